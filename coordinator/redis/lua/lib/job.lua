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
-- unless it may go on with that when it is redriven.
local function finish(id, fields, state, reason)
  redis.call('HSET', P .. 'j:' .. id, 'state', state, 'reason', reason, 'due', '0', 'delivery', '', 'count', '')
  redis.call('ZREM', TIMERS, id)
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
