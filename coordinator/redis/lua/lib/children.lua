-- The children of fan-outs.

-- Makes a child and its first delivery, and returns its queue. It inherits its parent's priority.
local function make_child(parent, fan, priority, number, now, id, thread, agent, contract, queue, lane, envelope)
  enqueue(id, queue, 'id', id, 'thread', id, 'thread_digest', thread, 'agent', agent, 'contract', contract,
    'queue', queue, 'lane', lane, 'envelope', envelope, 'tip', '', 'count', '0', 'key', '', 'idem', '',
    'key_ttl', '0', 'hop', '0', 'attempt', '1', 'token', '0', 'crashes', '0', 'lease', '', 'worker', '',
    'closed', '', 'parent', parent, 'brood', fan, 'number', number, 'priority', priority or '0',
    'created', num(now), 'updated', num(now))
  redis.call('ZADD', P .. 'jobs', num(now), id)
  redis.call('ZADD', P .. 'threads', 0, id)
  redis.call('HSET', P .. 't:' .. thread, 'name', id, 'job', id, 'count', '0')
  redis.call('ZADD', P .. 'v:' .. fan, number, id)
  emit_job(id, 'batonpass.job.submitted', agent, '0', 'parent', parent)
  return queue
end

-- A job that exists becomes the child of another fan-out. If it failed or was canceled, it is retried with the given
-- delivery, and its queue is returned. Whether it has ended otherwise is returned second.
local function go_on(job, fan, number, id, agent, contract, queue, lane, envelope)
  if is_set(job.brood) then
    redis.call('ZREM', P .. 'v:' .. job.brood, id)
  end
  redis.call('HSET', P .. 'j:' .. id, 'brood', fan, 'number', number)
  if (job.state == 'failed' or job.state == 'canceled') and not busy_with(job) then
    if agent == job.agent then
      job.queue = queue
      retry(id, job, 'contract', contract, 'queue', queue, 'envelope', envelope, 'lane', lane)
    else  -- it has been handed on since its parent looked
      queue = job.queue
      retry(id, job)
    end
  elseif ENDED[job.state] then
    return nil, true
  else
    queue = nil
  end
  redis.call('ZADD', P .. 'v:' .. fan, number, id)
  return queue, false
end

-- Makes children. The client has packed of each its id, its thread's digest, its number in the fan-out, agent,
-- contract, queue, lane and envelope. Those that exist go on, or count as they ended, last, because that may decide the
-- fan-out. Adds the queue of each that became ready to `filled`, and that of the parent, if it goes on, to `joined`.
local function make_children(parent, fan, priority, children, now, filled, joined)
  local over = {}
  for _, packed in ipairs(children) do
    local id, thread, number, agent, contract, queue, lane, envelope = unpack(cmsgpack.unpack(packed))
    local job, ended = redis.call('EXISTS', P .. 'j:' .. id) == 1 and read_tried(id), false
    if job then
      queue, ended = go_on(job, fan, number, id, agent, contract, queue, lane, envelope)
    else
      make_child(parent, fan, priority, number, now, id, thread, agent, contract, queue, lane, envelope)
    end
    filled[#filled + 1] = queue
    if ended then
      over[#over + 1] = { id, job }
    end
  end
  for _, each in ipairs(over) do
    joined[#joined + 1] = tell_parent(each[1], fan, each[2].state, each[2].reason)
  end
end

-- A child that had failed is redriven: if its parent still waits for others, it waits for this one, too. Returns
-- whether it does.
local function await_again(id, fan, parent, number)
  local job = redis.call('HMGET', P .. 'j:' .. parent, 'fan', 'verdict', 'lost')
  if job[1] ~= fan or job[2] ~= '' then
    return false
  end
  redis.call('HSET', P .. 'j:' .. parent, 'lost', num(job[3] - 1))
  redis.call('ZADD', P .. 'v:' .. fan, number, id)
  local outcomes_key, name = P .. 'f:' .. parent, fan .. ' ' .. number
  local known = redis.call('HGET', outcomes_key, name)
  if known then  -- the server may have evicted them
    local failed = cmsgpack.unpack(known)
    failed[2] = 'late ' .. failed[2]
    redis.call('HSET', outcomes_key, name, cmsgpack.pack(failed))
  end
  return true
end
