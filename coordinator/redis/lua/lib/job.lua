-- What several operations do to a job.

-- The fence: the job's fields if the lease is held. Else nil and the reply to give: {'+'} when the same lease ended
-- its delivery by the same operation before (a retry after a lost reply), a refusal otherwise.
local function held(id, token, lease, operation)
  local job = redis.call('HMGET', P .. 'j:' .. id, 'token', 'lease', 'state', 'worker', 'closed', 'agent', 'hop',
    'thread_digest', 'tip', 'queue', 'idem', 'key_ttl', 'attempt')
  if not job[3] then
    return nil, refuse('no_job', id)
  end
  local fields = { agent = job[6], hop = job[7], thread = job[8], tip = job[9], queue = job[10], idem = job[11],
    key_ttl = job[12], attempt = job[13] }
  if job[2] == lease and job[1] == token then
    return fields
  end
  if operation and job[5] == operation .. ' ' .. lease then
    return nil, { '+' }
  end
  return nil, refuse('fenced', id, token, job[3], job[4], job[1])
end

-- Makes a job deliverable from its queue, and wakes one worker. Wake-ups that nobody takes are kept to a few.
local function enqueue(id, queue, ...)
  local entry = redis.call('XADD', P .. 'q:' .. queue, '*', 'job', id)
  redis.call('HSET', P .. 'j:' .. id, 'state', 'submitted', 'reason', 'ready', 'due', '0', 'delivery', entry, ...)
  redis.call('RPUSH', P .. 'w:' .. queue, '1')
  redis.call('LTRIM', P .. 'w:' .. queue, 0, 63)
end

-- Ends a delivery: nobody holds the job.
local function close(id, operation, lease, now, ...)
  redis.call('ZREM', LEASES, id)
  local closed = operation and operation .. ' ' .. lease or ''
  redis.call('HSET', P .. 'j:' .. id, 'closed', closed, 'lease', '', 'worker', '', 'lease_until', '0',
    'updated', num(now), ...)
end

-- Ends a job: its thread is free, its journal is dropped, its idempotency key begins to age.
local function finish(id, fields, state, reason)
  redis.call('HSET', P .. 'j:' .. id, 'state', state, 'reason', reason, 'due', '0', 'delivery', '')
  redis.call('ZREM', TIMERS, id)
  redis.call('HSET', P .. 't:' .. fields.thread, 'job', '')
  redis.call('DEL', P .. 'n:' .. id)
  if fields.idem ~= '' then
    redis.call('PEXPIRE', P .. 'i:' .. fields.idem, fields.key_ttl)
  end
end
