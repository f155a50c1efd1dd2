-- Frees checkpoints of a thread that no job runs on, then its ended jobs, then forgets it.
-- KEYS prefix
-- ARGV thread digest, thread name, limit, '1' if only what is at places goes
-- Returns {'+', how many checkpoints were freed, 0 to go on or -1}, {'!busy', thread, job}
--@ uses clock holder record parts thread places free own forget
local job = holder(redis.call('HGET', P .. 't:' .. ARGV[1], 'job'))
if job then
  return refuse('busy', ARGV[2], job)
end

relieve()
if ARGV[4] == '1' then
  local freed, done = clear_placed(ARGV[1], ARGV[2], tonumber(ARGV[3]), now_ms())
  return { '+', freed, done and -1 or 0 }
end
local freed, done = clear(ARGV[1], ARGV[2], tonumber(ARGV[3]), now_ms(), MOST_SPANS)
return { '+', freed, done and -1 or 0 }
