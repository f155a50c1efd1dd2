-- Makes a failed job deliverable again, with a new count of attempts. The same again while it waits changes nothing.
-- KEYS prefix
-- ARGV job, checkpoint to go on from or '', token of its last lease or '-1' for any, '1' if its thread's tip must be
--      its last checkpoint, contract or '', queue, envelope, agent, lane, then key, value of each journal record
-- Returns {'+'}, {'!no_job', job}, {'!not_failed', job, state}, {'!failed_again', job}, {'!occupied', thread, job},
--      {'!strayed', thread, tip}, {'!no_checkpoint', id}
--@ uses clock holder fence record thread job retry children
local id, tip = ARGV[1], ARGV[2]
local job = read_tried(id, 'closed', 'token', 'parent', 'number')
if not job then
  return refuse('no_job', id)
elseif job.state == 'submitted' and job.closed == 'redrive' then
  local is = redis.call('HMGET', P .. 'j:' .. id, 'tip', 'envelope')
  local so = ARGV[5] == '' or (job.agent == ARGV[8] and is[2] == ARGV[7])
  for at = 10, #ARGV, 2 do
    so = so and (redis.call('HGET', P .. 'n:' .. id, ARGV[at]) or '') == ARGV[at + 1]
  end
  if so and (tip == '' or tip == is[1]) then
    return { '+' }
  end
end
if job.state ~= 'failed' then
  return refuse('not_failed', id, job.state)
elseif ARGV[3] ~= '-1' and ARGV[3] ~= job.token then
  return refuse('failed_again', id)
end
local busy = busy_with(job)
if busy then
  return refuse('occupied', job.thread, busy)
elseif ARGV[4] == '1' then
  local there = redis.call('HGET', P .. 't:' .. job.thread_digest, 'tip') or ''
  if there ~= '' and there ~= (redis.call('HGET', P .. 'j:' .. id, 'tip') or '') then
    return refuse('strayed', job.thread, there)
  end
end
if tip ~= '' and redis.call('EXISTS', P .. 'c:' .. tip) == 0 then
  return refuse('no_checkpoint', tip)
end

local fields = {}
local function set(name, value)
  fields[#fields + 1], fields[#fields + 2] = name, value
end
if is_set(job.brood) and not await_again(id, job.brood, job.parent, job.number or '0') then
  set('brood', '')  -- if it completes, its parent is told by `make_good`
end
if tip ~= '' then
  set('tip', tip)
end
if ARGV[5] ~= '' then
  job.queue, job.agent = ARGV[6], ARGV[8]
  set('contract', ARGV[5])
  set('queue', ARGV[6])
  set('envelope', ARGV[7])
  set('agent', ARGV[8])
  set('lane', ARGV[9])
end
append_journal(id, 10)
retry(id, job, unpack(fields))
return { '+' }
