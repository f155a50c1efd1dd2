-- Stores children for the fan-out that this lease prepares. The same again changes nothing.
-- KEYS prefix
-- ARGV job, token, lease, how many were put by before (0 to begin anew), then child (lib/children.lua) of each
-- Returns {'+'}, {'!fenced' ...}, {'!no_job' ...}, {'!unstaged', job, how many are there, how many should be}
--@ uses fence
local id, before = ARGV[1], tonumber(ARGV[4])
local fields, refused = held(id, ARGV[2], ARGV[3])
if not fields then
  return refused
end
local key = P .. 'b:' .. id
local staged = redis.call('LLEN', key)
if before > 0 and staged == before + #ARGV - 4 then
  return { '+' }
elseif before ~= 0 and before ~= staged then
  return refuse('unstaged', id, num(staged), ARGV[4])
end

redis.call('RPUSH', key, unpack(ARGV, 5))
if before == 0 then
  redis.call('LTRIM', key, staged, -1)
end
return { '+' }
