-- Ends overdue jobs, takes back expired leases, makes due timers ready, makes staged children, cancels children that
-- nobody waits for, frees expired checkpoints and items, and records a worker's presence.
-- KEYS prefix
-- ARGV limit of each, '1' or '0' to leave expired leases to their holders, deaths of workers from which on a job waits,
--      deaths that park it, ms of the first wait, ms of the longest, presence ms or '0', '1' if lines move before their
--      time, worker, its queues
-- Returns {'+', deliveries made ready or ended, ms until the next is due or -1, 1 if more has expired than it freed, or
--      0, queue of each made ready ...}
--@ uses clock holder record thread job retry asking children parts places free own forget items deaths
local limit, presence = tonumber(ARGV[1]), tonumber(ARGV[7])
local limits = { tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]) }
local now = now_ms()
local late = redis.call('ZRANGEBYSCORE', LIMITS, '-inf', num(now), 'LIMIT', 0, limit)
local expired = redis.call('ZRANGEBYSCORE', LEASES, '-inf', num(now), 'LIMIT', 0, ARGV[2] == '1' and limit or 0)
local due = redis.call('ZRANGEBYSCORE', TIMERS, '-inf', num(now), 'LIMIT', 0, limit)
local gates = redis.call('ZRANGEBYSCORE', GATES, '-inf', ARGV[8] == '1' and '+inf' or num(now), 'LIMIT', 0, limit)
local opening = redis.call('ZRANGE', P .. 'opening', 0, limit - 1)
local closing = redis.call('ZRANGE', P .. 'closing', 0, limit - 1)
local old = redis.call('ZRANGEBYSCORE', P .. 'expiry', '-inf', num(now), 'LIMIT', 0, limit)
local lapsed = redis.call('ZRANGEBYSCORE', P .. 'lapses', '-inf', num(now), 'LIMIT', 0, limit)

-- What was evicted, or deleted or damaged by somebody with another client, must not keep all others waiting.
local gone = {}
local function there(ids)
  local found = {}
  for _, id in ipairs(ids) do
    local job = fitting(redis.pcall('HMGET', P .. 'j:' .. id, 'thread_digest', 'queue', 'agent', 'hop')) or {}
    local list = job[1] and job[2] and job[3] and job[4] and found or gone
    list[#list + 1] = id
  end
  return found
end
late, expired, due, opening = there(late), there(expired), there(due), there(opening)

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

local filled, joined, parked = {}, {}, 0
local function join(queues)
  for _, queue in ipairs(queues) do
    joined[#joined + 1] = queue
  end
end
relieve()
for _, id in ipairs(gone) do
  for _, key in ipairs({ LIMITS, LEASES, TIMERS, ASKING }) do
    redis.call('ZREM', key, id)
  end
  redis.call('ZREM', P .. 'opening', id)
  redis.call('UNLINK', P .. 'b:' .. id)
end
for _, id in ipairs(late) do
  join(fail_late(id, now))
end
for _, id in left_of(expired) do
  local job = read_ending(id, 'worker', 'token', 'lease', 'crashes')
  job.closed = 'expired ' .. (job.lease or '')
  local how = 'worker ' .. (job.worker or '') .. ' let its lease expire'
  local queues, outcome = take_back(id, job, limits, how, now, 'batonpass.lease.expired')
  join(queues)
  if outcome == 'parked' then
    parked = parked + 1
  elseif outcome == 'ready' then
    filled[#filled + 1] = job.queue
    -- The worker that waits first may be the frozen one, and would swallow a single wake-up.
    for _ = 2, math.min(redis.call('ZCARD', P .. 'p:' .. job.queue), 8) do
      redis.call('RPUSH', P .. 'w:' .. job.queue, '1')
    end
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
for _, lane in ipairs(gates) do
  redis.call('ZREM', GATES, lane)
  filled[#filled + 1] = let_out(lane, now)
end
local made, canceled = 0, 0
for _, id in ipairs(opening) do
  local job = redis.call('HMGET', P .. 'j:' .. id, 'fan', 'priority')
  local staged = limit > made and redis.call('LRANGE', P .. 'b:' .. id, 0, limit - made - 1) or {}
  redis.call('LTRIM', P .. 'b:' .. id, #staged, -1)
  make_children(id, job[1], job[2], staged, now, filled, joined)
  made = made + #staged
  if redis.call('EXISTS', P .. 'b:' .. id) == 0 then
    redis.call('ZREM', P .. 'opening', id)
  end
end
for _, fan in ipairs(closing) do
  local left = limit > canceled and redis.call('ZRANGE', P .. 'v:' .. fan, 0, limit - canceled - 1) or {}
  for _, id in ipairs(left) do
    local job = read_ending(id, 'worker')
    if job then
      join(end_canceled(id, job))
    else
      redis.call('ZREM', P .. 'v:' .. fan, id)
    end
    canceled = canceled + 1
  end
  if redis.call('EXISTS', P .. 'v:' .. fan) == 0 then
    redis.call('ZREM', P .. 'closing', fan)
  end
end
local dropped, needed, left = {}, {}, MOST_SPANS
for _, id in ipairs(old) do
  local record, head = read_head(id)
  local known = record and redis.call('EXISTS', P .. 't:' .. head.thread) == 1
  if known then
    needed[head.thread] = needed[head.thread] or needed_on(head.thread)
  end
  if not known then
    redis.call('ZREM', P .. 'expiry', id)
  elseif needed[head.thread][id] then
    -- An unended job would resume from it: look again in a minute.
    redis.call('ZADD', P .. 'expiry', num(now + 60000), id)
  elseif left > 0 then
    left = left - span_count(head)
    forget_if_empty(head.thread, drop(id, head, now, dropped))
  end
end
free_logs(dropped)
for _, member in ipairs(lapsed) do
  drop_item(member)
end
if presence > 0 then
  for q = 10, #ARGV do
    local key = P .. 'p:' .. ARGV[q]
    redis.call('ZADD', key, num(now + presence), ARGV[9])
    redis.call('ZREMRANGEBYSCORE', key, '-inf', num(now))
    redis.call('PEXPIRE', key, math.max(presence, redis.call('PTTL', key)))
  end
end
local moved = #late + #filled + parked
for _, queue in ipairs(joined) do
  filled[#filled + 1] = queue
end
local due, more = due_in(now), redis.call('ZCOUNT', P .. 'expiry', '-inf', num(now)) > 0
if due ~= 0 and more then
  due = 1  -- at once, but not as what is due, such as a lease
end
more = more or redis.call('ZCOUNT', P .. 'lapses', '-inf', num(now)) > 0
return { '+', moved, due, more and 1 or 0, unpack(filled) }
