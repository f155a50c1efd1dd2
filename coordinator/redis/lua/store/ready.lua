-- How many deliveries are in these queues (some may be stale, as a claim will find). Deletes their wake-ups, because
-- nobody waits for those: workers wait at the doors in partition 0.
-- KEYS prefix
-- ARGV queue of each
-- Returns {'+', number of each, ms until the next timer or lease is due or -1}
--@ uses clock
local lengths = { '+' }
for i, queue in ipairs(ARGV) do
  redis.call('DEL', P .. 'w:' .. queue)
  lengths[i + 1] = redis.call('XLEN', P .. 'q:' .. queue)
end
lengths[#lengths + 1] = due_in(now_ms())
return lengths
