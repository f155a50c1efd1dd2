-- Makes a job ready that waits for its next attempt, or for the time that it was submitted for.
-- KEYS prefix
-- ARGV job
-- Returns {'+', 1, its queue}, {'+', 0} if it is ready, or at work, already, {'!no_job'}, {'!not_timed', job, state,
--      reason}
--@ uses clock record thread job
local id = ARGV[1]
local job = redis.call('HMGET', P .. 'j:' .. id, 'state', 'reason', 'queue', 'agent', 'hop', 'attempt')
local state, reason = job[1], job[2]
if not state then
  return refuse('no_job', id)
elseif (state == 'submitted' and reason == 'ready') or (state == 'working' and reason == '') then
  return { '+', 0 }
elseif state ~= 'submitted' or (reason ~= 'retry_at' and reason ~= 'scheduled') then
  return refuse('not_timed', id, state, reason)
end

enqueue(id, job[3], 'updated', now_text())
redis.call('ZREM', TIMERS, id)
emit_job(id, 'batonpass.job.submitted', job[4], job[5], 'attempt', job[6])
return { '+', 1, job[3] }
