-- Records agents' declarations.
-- KEYS prefix
-- ARGV name, declaration of each
-- Returns {'+'}
redis.call('HSET', P .. 'agents', unpack(ARGV))
return { '+' }
