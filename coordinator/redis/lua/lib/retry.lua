-- A failed job's next try.

-- Reads what `retry` needs of a job, and the other fields named. Nil if there is no such job.
local function read_tried(id, ...)
  local names = { 'state', 'reason', 'thread', 'thread_digest', 'queue', 'agent', 'hop', 'fan', 'idem', 'brood', ... }
  local job = redis.call('HMGET', P .. 'j:' .. id, unpack(names))
  local fields = {}
  for i, name in ipairs(names) do
    fields[name] = job[i]
  end
  return fields.state and fields
end

-- The job whose turn it is on the thread of another. False if it is nobody's.
local function busy_with(job)
  return holder(redis.call('HGET', P .. 't:' .. job.thread_digest, 'job'))
end

-- Makes a failed job deliverable again, with a new count of attempts. Its thread is free. `job` is from `read_tried`,
-- with queue and agent as they will be. More fields to set follow.
local function retry(id, job, ...)
  local fields = { 'attempt', '1', 'crashes', '0', 'failing', '0', 'error', '', 'result', '', 'closed', 'redrive',
    'updated', num(now_ms()), 'expires', '0', 'deadline', '0', ... }
  local function set(name, value)
    fields[#fields + 1], fields[#fields + 2] = name, value
  end
  if job.reason == 'unanswered' then  -- it will ask again
    set('answered', '')
  end
  if is_set(job.fan) and job.reason == 'children' then
    set('verdict', 'cut')  -- the children that failed the fan-out are tried again, too
  end
  enqueue(id, job.queue, unpack(fields))
  redis.call('ZREM', P .. 'dead', id)
  redis.call('HSET', P .. 't:' .. job.thread_digest, 'name', job.thread, 'job', id)
  if is_set(job.idem) and redis.call('HGET', P .. 'i:' .. job.idem, 'job') == id then
    redis.call('PERSIST', P .. 'i:' .. job.idem)
  end
  emit_job(id, 'batonpass.job.redriven', job.agent, job.hop)
end
