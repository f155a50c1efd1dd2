-- Forgets an ended job and its idempotency key, and its thread if nothing is left of that.
-- KEYS prefix
-- ARGV job
-- Returns {'+'}, {'!no_job', job}, {'!unended', job, state}
--@ uses record thread parts places free own forget
local id = ARGV[1]
local job = redis.call('HMGET', P .. 'j:' .. id, 'state', 'thread_digest', 'thread')
if not job[1] then
  return refuse('no_job', id)
elseif not ENDED[job[1]] then
  return refuse('unended', id, job[1])
end

relieve()
drop_job(id, job[2])
forget_if_empty(job[2], job[3])
return { '+' }
