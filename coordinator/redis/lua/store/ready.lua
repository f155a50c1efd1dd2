-- How many deliveries are in these queues (some may be stale, as a claim will find). Deletes their wake-ups, because
-- nobody waits for those: workers wait at the doors in partition 0. A queue of a paused agent counts as empty, because
-- a claim would find nothing there.
-- KEYS prefix
-- ARGV queue of each
-- Returns {'+', number of each, ms until the next timer or lease is due or -1}
--@ uses clock
local any_paused = redis.call('EXISTS', P .. 'paused') == 1

-- Whether the first delivery of a queue, if it is none that is stale, is for a paused agent. So all others are, too.
local function halts(queue)
  local head = redis.call('XRANGE', P .. 'q:' .. queue, '-', '+', 'COUNT', 1)[1]
  local job = head and redis.call('HMGET', P .. 'j:' .. head[2][2], 'queue', 'agent') or {}
  return job[1] == queue and redis.call('HEXISTS', P .. 'paused', job[2]) == 1
end

local lengths = { '+' }
for i, queue in ipairs(ARGV) do
  redis.call('DEL', P .. 'w:' .. queue)
  lengths[i + 1] = any_paused and halts(queue) and 0 or redis.call('XLEN', P .. 'q:' .. queue)
end
lengths[#lengths + 1] = due_in(now_ms())
return lengths
