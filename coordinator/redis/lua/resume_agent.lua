-- Lets a paused agent go on, and wakes workers for what is ready in queues of it.
-- KEYS prefix
-- ARGV agent, time of the change in partition 0 or '0' if this is it, queue of each
-- Returns {'+', 1 or 0 if nothing changed, time of the last change, queue of each that is ready (the first 64) ...}
--@ uses clock pausing
local agent, told_at = ARGV[1], tonumber(ARGV[2])
local at, last = change_at(agent, false, told_at)
if not at then
  return { '+', 0, last }
end
local ready = {}
for i = 3, #ARGV do
  ready[i] = math.min(redis.call('XLEN', P .. 'q:' .. ARGV[i]), 64)
end

redis.call('HDEL', P .. 'paused', agent)
redis.call('HSET', P .. 'resumed', agent, num(at))
local reply = { '+', 1, at }
for i = 3, #ARGV do
  for _ = 1, ready[i] do
    redis.call('RPUSH', P .. 'w:' .. ARGV[i], '1')
    reply[#reply + 1] = ARGV[i]
  end
end
if told_at == 0 then
  emit(agent, 'agents', 'batonpass.agent.resumed', 'agent', agent)
end
return reply
