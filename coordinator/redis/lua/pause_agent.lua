-- Pauses an agent: from now on, no claim takes a job of it.
-- KEYS prefix
-- ARGV agent, reason, time of the change in partition 0 or '0' if this is it
-- Returns {'+', 1 or 0 if nothing changed, time of the last change}
--@ uses clock pausing
local agent, reason, told_at = ARGV[1], ARGV[2], tonumber(ARGV[3])
local at, last = change_at(agent, true, told_at)
if not at then
  return { '+', 0, last }
end

redis.call('HSET', P .. 'paused', agent, num(at) .. ' ' .. reason)
redis.call('HDEL', P .. 'resumed', agent)
if told_at == 0 then
  emit(agent, 'agents', 'batonpass.agent.paused', 'agent', agent, 'reason', reason)
end
return { '+', 1, at }
