-- Leases ready deliveries, queue by queue: first those that go ahead, then in order. None of a paused agent. The entry
-- leaves its stream in the same step, so the lease is the only record of ownership. What may not run now goes to its
-- lane's line.
-- KEYS prefix
-- ARGV worker, limits of some queues (packed) or '', number of queues, (queue, lease ms) for each, lease id for each
--      delivery wanted
-- Returns {'+', {{id, queue, lease, token, lease's end, time, lane, slot, deadline, brood, parent, priority, agent,
--      hop, tip, attempt, failing, asked, children, fields ...}, {id, commit line, record, what each span holds ...} or
--      false, journal (false if its key is of another type)} ..., queue of each that was let out of its line ...,
--      ms until the next is due or -1, if no more is ready}
--@ uses clock record thread job turns parts whole

-- Whether a job is no child, or a child that its parent still waits for.
local function waited_for(brood, parent)
  if not brood or brood == '' then
    return true
  end
  local fan = fitting(redis.pcall('HMGET', P .. 'j:' .. parent, 'fan', 'verdict')) or {}
  return fan[1] == brood and fan[2] == ''
end

local worker, queues = ARGV[1], tonumber(ARGV[3])
local limits = ARGV[2] ~= '' and cmsgpack.unpack(ARGV[2]) or {}
local first_lease = 4 + 2 * queues
local wanted = #ARGV - first_lease + 1
local seen, taken, found, stale, left, stamp = {}, {}, 0, {}, {}, now_text()
local now = tonumber(stamp)
-- Read the heads of all queues at once, or in portions: `unpack` takes a few thousand at most. (No other script uses
-- XREAD, so that a user who may not claim is refused here.) The same calls say that none goes ahead and that no agent
-- is paused, as mostly.
local paused_key = P .. 'paused'
local heads, any_ahead, any_paused, keys_ahead = {}, 0, false, { paused_key }
for first = 1, queues, 1000 do
  local streams, size = {}, math.min(1000, queues - first + 1)
  for n = 1, size do
    local queue = ARGV[2 * (first + n)]
    streams[n], streams[size + n], keys_ahead[#keys_ahead + 1] = P .. 'q:' .. queue, '0', P .. 'a:' .. queue
  end
  any_ahead, keys_ahead = any_ahead + redis.call('EXISTS', unpack(keys_ahead)), {}
  for _, head in ipairs(redis.call('XREAD', 'COUNT', wanted, 'STREAMS', unpack(streams)) or {}) do
    heads[head[1]] = head[2]
  end
end
if any_ahead > 0 then
  any_paused = redis.call('EXISTS', paused_key) == 1
  any_ahead = any_ahead - (any_paused and 1 or 0)
end
any_ahead = any_ahead > 0

-- The queues whose agent was looked up: whether it is paused. (All jobs of a queue are for one agent.)
local halted = {}
local function halts(queue, agent)
  if halted[queue] == nil then
    halted[queue] = fitting(redis.pcall('HEXISTS', P .. 'paused', agent)) == 1
  end
  return halted[queue]
end

-- Looks at a job in a queue, and decides what becomes of it. `entry` is nil if it was found among those that go ahead.
-- One with damaged fields starts, so that its worker can end it and say why. Of one without a hash, nobody could.
local function look(queue, lease_ms, id, entry)
  local job = fitting(redis.pcall('HMGET', P .. 'j:' .. id, 'delivery', 'expires', 'slot', 'lane', 'token', 'queue',
    'deadline', 'brood', 'parent', 'priority', 'agent', 'hop', 'tip', 'attempt', 'failing', 'asked', 'children',
    'thread', 'contract', 'crashes', 'began', 'key', 'idem', 'key_ttl', 'closed', 'created', 'error', 'number',
    'envelope')) or {}
  local expires, deadline, ready = read_num(job[2]), read_num(job[7]), job[1] or ''
  if job[6] ~= queue or ready ~= (entry or string.match(ready, '^%d+%-%d+$')) then
    stale[#stale + 1] = { id, queue, entry or '0-0' }
  elseif any_paused and halts(queue, job[11] or '') then
    left[queue] = true
  elseif (expires == 0 or expires > now) and (deadline == 0 or deadline > now) and waited_for(job[8], job[9]) then
    local one = { id = id, queue = queue, entry = ready, ahead = not entry, lane_known = job[4] or '',
      priority = read_num(job[10]), token = read_num(job[5]), agent = job[11] or '', hop = job[12] or '0',
      tip = job[13] or '', attempt = job[14] or '1', failing = read_num(job[15]), lease_ms = lease_ms,
      expires = expires, deadline = deadline, fields = job }
    local slot = job[3] or ''
    if job[16] or job[17] then
      for _, value in ipairs(redis.call('HMGET', P .. 'j:' .. id,
        'answered', 'assignee', 'escalation', 'escalated', 'question', 'answer', 'terms', 'otherwise', 'fan',
        'verdict', 'need', 'spare', 'done', 'lost')) do
        job[#job + 1] = value
      end
    end
    if limits[queue] or slot ~= '' then
      take_turn(one, slot, limits[queue], now)
    end
    seen[#seen + 1], taken[id] = one, true
    if not one.parked then
      found = found + 1
    end
  else
    left[queue] = true
  end
end

-- For each queue, the stream entry up to which everything was looked at.
local cut_short, front = {}, {}
for q = 1, queues do
  local queue, lease_ms = ARGV[2 + 2 * q], tonumber(ARGV[3 + 2 * q])
  local entries, looked, asked = heads[P .. 'q:' .. queue] or {}, 0, wanted
  while any_ahead and found < wanted and looked < 500 and not halted[queue] do
    local ids = redis.call('ZRANGE', P .. 'a:' .. queue, looked, looked + wanted - found - 1)
    for _, id in ipairs(ids) do
      look(queue, lease_ms, id)
    end
    looked = ids[1] and looked + #ids or 500
  end
  looked = 0
  while found < wanted and #entries > 0 and not halted[queue] do
    if looked >= 500 then
      cut_short[queue] = true
      break
    end
    for _, entry in ipairs(entries) do
      if found < wanted then
        front[queue] = entry[1]
        if not taken[entry[2][2]] then
          look(queue, lease_ms, entry[2][2], entry[1])
        end
      end
    end
    looked = looked + #entries
    local more = found < wanted and #entries == asked
    asked = wanted - found
    entries = more and redis.call('XRANGE', P .. 'q:' .. queue, '(' .. entries[#entries][1], '+', 'COUNT', asked) or {}
  end
end

for _, entry in ipairs(stale) do
  dequeue(unpack(entry))
end
-- Remove several entries in one step: deleting one by one walks over all that were deleted before it.
local trimmed = {}
for queue, entry in pairs(#seen > 1 and front or {}) do
  if not left[queue] then
    local ms, number = string.match(entry, '^(%d+)-(%d+)$')
    redis.call('XTRIM', P .. 'q:' .. queue, 'MINID', ms .. '-' .. num(number + 1))
    trimmed[queue] = true
  end
end
local function start(job, lease)
  local job_key, lane, slot = P .. 'j:' .. job.id, job.lane_known, ''
  -- A token from the clock is greater than any that the store had given before it lost its last writes.
  local token, until_ms = job.token < now and stamp or num(job.token + 1), num(now + job.lease_ms)
  if job.ahead or not trimmed[job.queue] then
    redis.call('XDEL', P .. 'q:' .. job.queue, job.entry)
  end
  if any_ahead then
    redis.call('ZREM', P .. 'a:' .. job.queue, job.id)
  end
  redis.call('HSET', job_key, 'state', 'working', 'reason', '', 'delivery', '', 'lease', lease, 'worker', worker,
    'token', token, 'lease_until', until_ms, 'updated', stamp)
  redis.call('ZADD', LEASES, until_ms, job.id)
  if job.lane then
    lane, slot = job.lane.name, job.lane.name
    enter(job, token, now)
  end
  if job.failing < 0 then
    job.fields[15] = num(now + job.failing)
    redis.call('HSET', job_key, 'failing', job.fields[15])
  end
  if job.expires > 0 then
    redis.call('HSET', job_key, 'expires', '0')
    if job.deadline > 0 then
      redis.call('ZADD', LIMITS, num(job.deadline), job.id)
    else
      redis.call('ZREM', LIMITS, job.id)
    end
  end
  emit_job(job.id, 'batonpass.job.started', job.agent, job.hop,
    'worker', worker, 'token', token, 'attempt', job.attempt)
  local checkpoint = job.tip ~= '' and read_whole(job.tip) or false
  -- A job that never had a lease has no journal, unless it was redriven: what is known by then may have been added.
  local journal, closed = {}, job.fields[25]
  if job.token > 0 or closed == 'redrive' then
    journal = fitting(redis.pcall('HGETALL', P .. 'n:' .. job.id))
    if not journal then  -- the job ends of that, and could not with such a key
      journal = false
      redis.call('UNLINK', P .. 'n:' .. job.id)
    end
    redis.call('UNLINK', P .. 'b:' .. job.id)
  end
  local told = { job.id, job.queue, lease, token, until_ms, stamp, lane, slot, unpack(job.fields, 7) }
  return { told, checkpoint, journal }
end

local deliveries = { '+' }
for _, job in ipairs(seen) do
  if job.parked then
    park(job, now)
  else
    deliveries[#deliveries + 1] = start(job, ARGV[first_lease + #deliveries - 1])
  end
end
local refilled = move_on(now)
for queue in pairs(refilled) do
  deliveries[#deliveries + 1] = queue
end
if found < wanted then
  -- These queues are empty now: a wake-up that still lies there would only make a worker look in vain.
  local keys = {}
  for q = 1, queues do
    local queue = ARGV[2 + 2 * q]
    if cut_short[queue] then
      redis.call('RPUSH', P .. 'w:' .. queue, '1')
    elseif not refilled[queue] then
      keys[#keys + 1] = P .. 'w:' .. queue
    end
  end
  for at = 1, #keys, 1000 do
    redis.call('DEL', unpack(keys, at, math.min(at + 999, #keys)))
  end
  deliveries[#deliveries + 1] = due_in(now)
end
return in_one(deliveries)
