-- Ends overdue jobs, takes back expired leases, makes due timers ready, frees expired checkpoints and items, notes a
-- worker's presence.
-- KEYS prefix
-- ARGV limit of each, deaths of workers that park a job, presence ms or '0', worker, its queues
-- Returns {'+', deliveries made ready or ended, ms until the next is due or -1, queue of each made ready ...}
--@ uses clock job asking record parts thread places free items
local limit, poison, presence = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now = now_ms()
local late = redis.call('ZRANGEBYSCORE', LIMITS, '-inf', num(now), 'LIMIT', 0, limit)
local expired = redis.call('ZRANGEBYSCORE', LEASES, '-inf', num(now), 'LIMIT', 0, limit)
local due = redis.call('ZRANGEBYSCORE', TIMERS, '-inf', num(now), 'LIMIT', 0, limit)
local old = redis.call('ZRANGEBYSCORE', P .. 'expiry', '-inf', num(now), 'LIMIT', 0, limit)
local lapsed = redis.call('ZRANGEBYSCORE', P .. 'lapses', '-inf', num(now), 'LIMIT', 0, limit)

local ended, asking = {}, {}
for _, id in ipairs(late) do
  ended[id] = true
end
for _, id in ipairs(due) do
  if not ended[id] and redis.call('HGET', P .. 'j:' .. id, 'state') == 'input_required' then
    asking[id] = read_overdue(id)
  end
end

local function left_of(ids)
  local left = {}
  for _, id in ipairs(ids) do
    if not ended[id] then
      left[#left + 1] = id
    end
  end
  return ipairs(left)
end

local filled, parked = {}, 0
relieve()
for _, id in ipairs(late) do
  fail_late(id, now)
end
for _, id in left_of(expired) do
  local job = redis.call('HMGET', P .. 'j:' .. id, 'worker', 'token', 'crashes', 'queue', 'agent', 'hop',
    'thread_digest', 'idem', 'key_ttl', 'tip', 'count')
  local crashes = tonumber(job[3]) + 1
  close(id, nil, nil, now, 'crashes', num(crashes))
  if crashes >= poison then
    local fields = { thread = job[7], idem = job[8], key_ttl = job[9], tip = job[10], count = job[11] or '' }
    fields.agent, fields.hop = job[5], job[6]
    park_poisoned(id, fields, num(crashes))
    parked = parked + 1
  else
    enqueue(id, job[4])
    filled[#filled + 1] = job[4]
    -- Who waits first may be the very worker that is frozen, and would swallow the one wake-up.
    for _ = 2, math.min(redis.call('ZCARD', P .. 'p:' .. job[4]), 8) do
      redis.call('RPUSH', P .. 'w:' .. job[4], '1')
    end
    emit_job(id, 'batonpass.lease.expired', job[5], job[6], 'worker', job[1], 'token', job[2])
  end
end
for _, id in left_of(due) do
  if asking[id] then
    filled[#filled + 1] = overdue(id, asking[id], now)
  else
    local job = redis.call('HMGET', P .. 'j:' .. id, 'queue', 'agent', 'hop', 'attempt')
    redis.call('ZREM', TIMERS, id)
    enqueue(id, job[1], 'updated', num(now))
    filled[#filled + 1] = job[1]
    emit_job(id, 'batonpass.job.submitted', job[2], job[3], 'attempt', job[4])
  end
end
local dropped = {}
for _, id in ipairs(old) do
  local record, head = read_head(id)
  local job = record and redis.call('HGET', P .. 't:' .. head.thread, 'job') or ''
  if not record then
    redis.call('ZREM', P .. 'expiry', id)
  elseif job ~= '' and redis.call('HGET', P .. 'j:' .. job, 'tip') == id then
    -- An unended job would resume from it: looked at again a minute later.
    redis.call('ZADD', P .. 'expiry', num(now + 60000), id)
  else
    drop(id, head, now, dropped)
  end
end
free_logs(dropped)
for _, member in ipairs(lapsed) do
  drop_item(member)
end
if presence > 0 then
  for q = 5, #ARGV do
    local key = P .. 'p:' .. ARGV[q]
    redis.call('ZADD', key, num(now + presence), ARGV[4])
    redis.call('ZREMRANGEBYSCORE', key, '-inf', num(now))
    redis.call('PEXPIRE', key, math.max(presence, redis.call('PTTL', key)))
  end
end
local next_due = -1
for _, key in ipairs({ LEASES, TIMERS, LIMITS }) do
  local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
  if first[2] and (next_due < 0 or tonumber(first[2]) - now < next_due) then
    next_due = math.max(tonumber(first[2]) - now, 0)
  end
end
return { '+', #late + #filled + parked, next_due, unpack(filled) }
