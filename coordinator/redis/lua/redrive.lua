-- Makes a failed job deliverable again, with attempts as new. The same again while it waits changes nothing.
-- KEYS prefix
-- ARGV job, checkpoint to go on from or '', contract or '', queue, envelope, agent, lane
-- Returns {'+'}, {'!no_job', job}, {'!not_failed', job, state}, {'!busy', thread, job}, {'!no_checkpoint', id}
--@ uses clock job
local id, tip = ARGV[1], ARGV[2]
local job_key = P .. 'j:' .. id
local job = redis.call('HMGET', job_key, 'state', 'closed', 'thread', 'thread_digest', 'queue', 'agent', 'hop', 'idem',
  'reason', 'brood', 'fan')
if not job[1] then
  return refuse('no_job', id)
elseif job[1] == 'submitted' and job[2] == 'redrive' then
  return { '+' }
elseif job[1] ~= 'failed' then
  return refuse('not_failed', id, job[1])
end
local busy = redis.call('HGET', P .. 't:' .. job[4], 'job')
if busy and busy ~= '' then
  return refuse('busy', job[3], busy)
elseif tip ~= '' and redis.call('EXISTS', P .. 'c:' .. tip) == 0 then
  return refuse('no_checkpoint', tip)
end

local fields = { 'attempt', '1', 'crashes', '0', 'failing', '0', 'error', '', 'closed', 'redrive',
  'updated', num(now_ms()), 'expires', '0', 'deadline', '0' }
local function set(name, value)
  fields[#fields + 1], fields[#fields + 2] = name, value
end
if job[9] == 'unanswered' then  -- it is asked again
  set('answered', '')
end
if job[10] and job[10] ~= '' then
  set('brood', '')  -- its parent has counted it as lost, and is told if it is completed
end
if job[11] and job[11] ~= '' and job[9] == 'children' then
  set('verdict', 'cut')  -- the children that broke it are tried again, too
end
if tip ~= '' then
  set('tip', tip)
end
if ARGV[3] ~= '' then
  set('contract', ARGV[3])
  set('queue', ARGV[4])
  set('envelope', ARGV[5])
  set('agent', ARGV[6])
  set('lane', ARGV[7])
end
enqueue(id, ARGV[3] ~= '' and ARGV[4] or job[5], unpack(fields))
redis.call('ZREM', P .. 'dead', id)
redis.call('HSET', P .. 't:' .. job[4], 'name', job[3], 'job', id)
if job[8] ~= '' and redis.call('HGET', P .. 'i:' .. job[8], 'job') == id then
  redis.call('PERSIST', P .. 'i:' .. job[8])
end
emit_job(id, 'batonpass.job.redriven', ARGV[3] ~= '' and ARGV[6] or job[6], job[7])
return { '+' }
