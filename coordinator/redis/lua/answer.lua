-- Answers a suspended job's question. The same answer again changes nothing.
-- KEYS prefix
-- ARGV job, answer
-- Returns {'+'}, {'!no_job'}, {'!not_asking', job, state}
--@ uses clock job
local id = ARGV[1]
local job = redis.call('HMGET', P .. 'j:' .. id, 'state', 'answer', 'queue', 'agent', 'hop')
if not job[1] then
  return refuse('no_job', id)
end
if job[1] ~= 'input_required' then
  -- Also when a worker has gone on with it before the retry.
  if ARGV[2] ~= '' and job[2] == ARGV[2] then
    return { '+' }
  end
  return refuse('not_asking', id, job[1])
end

enqueue(id, job[3], 'answer', ARGV[2], 'updated', num(now_ms()))
emit_job(id, 'batonpass.job.answered', job[4], job[5])
return { '+' }
