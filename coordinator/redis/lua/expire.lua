-- Deletes one checkpoint; its neighbours stay.
-- KEYS prefix
-- ARGV checkpoint
-- Returns {'+'}, {'!no_checkpoint', id}, {'!needed', id, job}
--@ uses clock thread
local id = ARGV[1]
local thread = thread_of(id)
if not thread then
  return refuse('no_checkpoint', id)
end
local job = redis.call('HGET', P .. 't:' .. thread, 'job')
if job and job ~= '' and redis.call('HGET', P .. 'j:' .. job, 'tip') == id then
  return refuse('needed', id, job)
end

drop(id, thread, now_ms())
return { '+' }
