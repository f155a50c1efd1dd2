-- Makes a group of consumers if it is new, or begins it anew. Stores what its maker keeps with it.
-- KEYS prefix
-- ARGV group digest, name, 1 to begin behind the newest event, 1 to begin anew, 1 if it must be there, 1 to note this,
--      what its maker keeps
-- Returns {'+'}, {'!no_group', name}
--@ uses events
local group_key = P .. 'h:' .. ARGV[1]
local known = redis.call('EXISTS', group_key) == 1
if ARGV[5] == '1' and not known then
  return refuse('no_group', ARGV[2])
elseif known and ARGV[4] ~= '1' and ARGV[6] ~= '1' then
  return { '+' }
end
local about = ARGV[6] == '1' and ARGV[7] or known and redis.call('HGET', group_key, 'about') or ''
local front, passed = trimmed()
if ARGV[3] == '1' then
  local newest = redis.call('XREVRANGE', EVENTS, '+', '-', 'COUNT', 1)
  front = newest[1] and newest[1][1] or front
  passed = passed + redis.call('XLEN', EVENTS)
end

redis.call('HSET', P .. 'groups', ARGV[1], ARGV[2])
if known and ARGV[4] ~= '1' then
  redis.call('HSET', group_key, 'about', about)
else
  redis.call('DEL', group_key)
  redis.call('HSET', group_key, 'front', front, 'passed', num(passed), 'about', about)
end
return { '+' }
