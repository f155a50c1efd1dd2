-- The children of fan-outs.

-- Makes a child and its first delivery, and returns its queue. The client has packed its id, its thread's digest, its
-- number in the fan-out, agent, contract, queue, lane and envelope. It inherits its parent's priority.
local function make_child(parent, fan, priority, packed, now)
  local id, thread, number, agent, contract, queue, lane, envelope = unpack(cmsgpack.unpack(packed))
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
  local failed = cmsgpack.unpack(redis.call('HGET', outcomes_key, name))
  failed[2] = 'late ' .. failed[2]
  redis.call('HSET', outcomes_key, name, cmsgpack.pack(failed))
  return true
end
