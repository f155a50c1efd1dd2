-- Records agents' declarations.
-- KEYS prefix
-- ARGV name, declaration of each
-- Returns {'+'}
for i = 1, #ARGV, 2 do
  redis.call('HSET', P .. 'agents', ARGV[i], ARGV[i + 1])
end
return { '+' }
