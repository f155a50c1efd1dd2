-- What several operations do to a job.

-- Makes a job deliverable from its queue, and wakes one worker; answers the delivery's entry. Wake-ups that nobody takes
-- are kept to a few.
local function enqueue(id, queue, ...)
  local entry = redis.call('XADD', P .. 'q:' .. queue, '*', 'job', id)
  redis.call('HSET', P .. 'j:' .. id, 'state', 'submitted', 'reason', 'ready', 'due', '0', 'delivery', entry, ...)
  if redis.call('RPUSH', P .. 'w:' .. queue, '1') > 64 then
    redis.call('LTRIM', P .. 'w:' .. queue, 0, 63)
  end
  return entry
end

-- Ends a delivery: nobody holds the job.
local function close(id, operation, lease, now, ...)
  redis.call('ZREM', LEASES, id)
  local closed = operation and operation .. ' ' .. lease or ''
  redis.call('HSET', P .. 'j:' .. id, 'closed', closed, 'lease', '', 'worker', '', 'lease_until', '0',
    'updated', num(now), ...)
end

-- Ends a job: its thread is free and knows its tip again, its journal is dropped, its idempotency key begins to age.
local function finish(id, fields, state, reason)
  redis.call('HSET', P .. 'j:' .. id, 'state', state, 'reason', reason, 'due', '0', 'delivery', '', 'count', '')
  redis.call('ZREM', TIMERS, id)
  local thread_key = P .. 't:' .. fields.thread
  redis.call('HSET', thread_key, 'job', '')
  if fields.count ~= '' then
    redis.call('HSET', thread_key, 'tip', fields.tip, 'count', fields.count)
  end
  redis.call('DEL', P .. 'n:' .. id)
  if fields.idem ~= '' then
    redis.call('PEXPIRE', P .. 'i:' .. fields.idem, fields.key_ttl)
  end
end
