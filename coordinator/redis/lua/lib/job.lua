-- What several operations do to a job.

-- Makes a job deliverable from its queue, and wakes one worker; answers the delivery's entry. Wake-ups that nobody takes
-- are kept to a few, and dropped many at a time: that costs as much as adding one.
local function enqueue(id, queue, ...)
  local entry = redis.call('XADD', P .. 'q:' .. queue, '*', 'job', id)
  redis.call('HSET', P .. 'j:' .. id, 'state', 'submitted', 'reason', 'ready', 'due', '0', 'delivery', entry, ...)
  if redis.call('RPUSH', P .. 'w:' .. queue, '1') > 128 then
    redis.call('LTRIM', P .. 'w:' .. queue, 0, 63)
  end
  return entry
end

-- Notes when a job fails if it has not ended: when it expires, or at its deadline ('0' or false for none).
local function note_limit(id, expires, deadline)
  local at = tonumber(expires or 0)
  local last = tonumber(deadline or 0)
  if at == 0 or last > 0 and last < at then
    at = last
  end
  if at > 0 then
    redis.call('ZADD', LIMITS, num(at), id)
  end
end

-- The fields of a job that nobody holds any more, and other fields.
local function unheld(operation, lease, now, ...)
  local closed = operation and operation .. ' ' .. lease or ''
  return 'closed', closed, 'lease', '', 'worker', '', 'lease_until', '0', 'updated', num(now), ...
end

-- Ends a delivery: nobody holds the job.
local function close(id, operation, lease, now, ...)
  redis.call('ZREM', LEASES, id)
  redis.call('HSET', P .. 'j:' .. id, unheld(operation, lease, now, ...))
end

-- Ends a job: its thread is free and knows its tip again, its idempotency key begins to age. Its journal is dropped,
-- unless it may go on with that when it is redriven. `delivery` and `queue` are of one that was not claimed.
local function finish(id, fields, state, reason)
  redis.call('HSET', P .. 'j:' .. id, 'state', state, 'reason', reason, 'due', '0', 'delivery', '', 'count', '')
  redis.call('ZREM', TIMERS, id)
  redis.call('ZREM', LIMITS, id)
  if fields.delivery and fields.delivery ~= '' then
    redis.call('XDEL', P .. 'q:' .. fields.queue, fields.delivery)
  end
  if fields.count ~= '' then
    redis.call('HSET', P .. 't:' .. fields.thread, 'job', '', 'tip', fields.tip, 'count', fields.count)
  else
    redis.call('HSET', P .. 't:' .. fields.thread, 'job', '')
  end
  if state == 'failed' then
    redis.call('ZADD', P .. 'dead', num(now_ms()), id)
  else
    redis.call('DEL', P .. 'n:' .. id)
  end
  if fields.idem ~= '' and redis.call('HGET', P .. 'i:' .. fields.idem, 'job') == id then
    redis.call('PEXPIRE', P .. 'i:' .. fields.idem, fields.key_ttl)
  end
end

-- Ends a job whose workers keep dying: nobody holds it any more.
local function park_poisoned(id, fields, crashes)
  local text = crashes .. ' workers died or went silent while they ran this hop'
  redis.call('HSET', P .. 'j:' .. id, 'error', text)
  finish(id, fields, 'failed', 'poison')
  emit_job(id, 'batonpass.job.failed', fields.agent, fields.hop, 'reason', 'poison', 'error', text)
end

-- Ends a job that was not started, or did not end, in its time, whoever holds it.
local function fail_late(id, now)
  local job = redis.call('HMGET', P .. 'j:' .. id, 'agent', 'hop', 'thread_digest', 'idem', 'key_ttl', 'tip', 'count',
    'queue', 'delivery', 'expires', 'deadline')
  local fields = { thread = job[3], idem = job[4], key_ttl = job[5], tip = job[6], count = job[7] or '' }
  fields.queue, fields.delivery = job[8], job[9]
  local expires, deadline = tonumber(job[10] or 0), tonumber(job[11] or 0)
  local reason, text = 'deadline', 'it did not end before its deadline'
  if expires > 0 and (deadline == 0 or expires <= deadline) then
    reason, text = 'expired', 'no worker started it before it expired'
  end
  close(id, nil, nil, now, 'error', text)
  finish(id, fields, 'failed', reason)
  redis.call('ZREM', ASKING, id)
  emit_job(id, 'batonpass.job.failed', job[1], job[2], 'reason', reason, 'error', text)
end
