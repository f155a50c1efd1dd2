-- Makes a failed job deliverable again, with a new count of attempts. The same again while it waits changes nothing.
-- KEYS prefix
-- ARGV job, checkpoint to go on from or '', token of its last lease or '-1' for any, contract or '', queue, envelope,
--      agent, lane
-- Returns {'+'}, {'!no_job', job}, {'!not_failed', job, state}, {'!failed_again', job}, {'!busy', thread, job},
--      {'!no_checkpoint', id}
--@ uses clock record thread job children
local id, tip = ARGV[1], ARGV[2]
local job_key = P .. 'j:' .. id
local job = redis.call('HMGET', job_key, 'state', 'closed', 'thread', 'thread_digest', 'queue', 'agent', 'hop', 'idem',
  'reason', 'brood', 'fan', 'token', 'parent', 'number')
if not job[1] then
  return refuse('no_job', id)
elseif job[1] == 'submitted' and job[2] == 'redrive' then
  local is = redis.call('HMGET', job_key, 'tip', 'envelope')
  local so = ARGV[4] == '' or (job[6] == ARGV[7] and is[2] == ARGV[6])
  if so and (tip == '' or tip == is[1]) then
    return { '+' }
  end
end
if job[1] ~= 'failed' then
  return refuse('not_failed', id, job[1])
elseif ARGV[3] ~= '-1' and ARGV[3] ~= job[12] then
  return refuse('failed_again', id)
end
local busy = redis.call('HGET', P .. 't:' .. job[4], 'job')
if busy and busy ~= '' then
  return refuse('busy', job[3], busy)
elseif tip ~= '' and redis.call('EXISTS', P .. 'c:' .. tip) == 0 then
  return refuse('no_checkpoint', tip)
end

local fields = { 'attempt', '1', 'crashes', '0', 'failing', '0', 'error', '', 'result', '', 'closed', 'redrive',
  'updated', num(now_ms()), 'expires', '0', 'deadline', '0' }
local function set(name, value)
  fields[#fields + 1], fields[#fields + 2] = name, value
end
if job[9] == 'unanswered' then  -- it will ask again
  set('answered', '')
end
if job[10] and job[10] ~= '' and not await_again(id, job[10], job[13], job[14]) then
  set('brood', '')  -- if it completes, its parent is told by `make_good`
end
if job[11] and job[11] ~= '' and job[9] == 'children' then
  set('verdict', 'cut')  -- the children that failed the fan-out are tried again, too
end
if tip ~= '' then
  set('tip', tip)
end
if ARGV[4] ~= '' then
  set('contract', ARGV[4])
  set('queue', ARGV[5])
  set('envelope', ARGV[6])
  set('agent', ARGV[7])
  set('lane', ARGV[8])
end
enqueue(id, ARGV[4] ~= '' and ARGV[5] or job[5], unpack(fields))
redis.call('ZREM', P .. 'dead', id)
redis.call('HSET', P .. 't:' .. job[4], 'name', job[3], 'job', id)
if job[8] ~= '' and redis.call('HGET', P .. 'i:' .. job[8], 'job') == id then
  redis.call('PERSIST', P .. 'i:' .. job[8])
end
emit_job(id, 'batonpass.job.redriven', ARGV[4] ~= '' and ARGV[7] or job[6], job[7])
return { '+' }
