-- Forgets a group of consumers.
-- KEYS prefix
-- ARGV group digest, name
-- Returns {'+'}, {'!no_group', name}
local group_key = P .. 'h:' .. ARGV[1]
if redis.call('EXISTS', group_key) == 0 then
  return refuse('no_group', ARGV[2])
end

redis.call('DEL', group_key)
redis.call('HDEL', P .. 'groups', ARGV[1])
return { '+' }
