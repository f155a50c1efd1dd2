-- Ends a job at once, whoever holds it: its worker is refused at the next write.
-- KEYS prefix
-- ARGV job
-- Returns {'+', 1, or 0 if it was ended before}, {'!no_job'}
--@ uses clock job
local id = ARGV[1]
local job = redis.call('HMGET', P .. 'j:' .. id, 'state', 'worker', 'agent', 'hop', 'thread_digest', 'idem', 'key_ttl',
  'tip', 'count', 'queue', 'delivery')
if not job[1] then
  return refuse('no_job', id)
end
if job[1] ~= 'submitted' and job[1] ~= 'working' and job[1] ~= 'input_required' then
  return { '+', 0 }
end

relieve()
redis.call('ZREM', ASKING, id)
close(id, nil, nil, now_ms())
local fields = { thread = job[5], idem = job[6], key_ttl = job[7], tip = job[8], count = job[9] or '' }
fields.queue, fields.delivery = job[10], job[11]
finish(id, fields, 'canceled', '')
emit_job(id, 'batonpass.job.canceled', job[3], job[4], 'worker', job[2])
return { '+', 1 }
