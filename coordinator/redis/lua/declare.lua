-- Records agents' declarations, but those that were recorded anew since the caller read them.
-- KEYS prefix
-- ARGV '1' if what was recorded before counts, name, declaration, what was recorded before or '' of each
-- Returns {'+', name of each that is left alone ...}
local left, writes = { '+' }, {}
for i = 2, #ARGV, 3 do
  if ARGV[1] == '1' and (redis.call('HGET', P .. 'agents', ARGV[i]) or '') ~= ARGV[i + 2] then
    left[#left + 1] = ARGV[i]
  else
    writes[#writes + 1] = i
  end
end
for _, i in ipairs(writes) do
  redis.call('HSET', P .. 'agents', ARGV[i], ARGV[i + 1])
end
return left
