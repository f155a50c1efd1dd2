-- Whose turn it is in a lane, decided by a claim (see operations/lanes.py). la:<lane> has those with a place in the
-- lane: 1 if it runs, 0 if it was let out of the line and is ready. lw:<lane> has those who wait in line, by priority
-- band and by rank in the queue.

-- The distance between two bands: more than the rank of any entry (ms and number). Jobs that go ahead get a rank as if
-- they had come decades earlier.
local BAND, AHEAD = 3e15, 1e15

local lanes, in_order = {}, {}

-- A lane, as this claim finds it and changes it. `bounds`: default lane, concurrency, count, per ms; nil if everything
-- that was let out may run.
local function find_lane(name, bounds, now)
  local lane = lanes[name]
  if not lane then
    lane = { name = name, most = bounds and bounds[2] or 0, count = bounds and bounds[3] or 0, starts = 0 }
    lane.running = redis.call('ZCOUNT', P .. 'la:' .. name, 1, 1)
    lane.admitted = redis.call('ZCOUNT', P .. 'la:' .. name, 0, 0)
    lane.waiting = redis.call('ZCARD', P .. 'lw:' .. name) > 0
    if lane.count > 0 then
      lane.per = bounds[4]
      lane.starts = redis.call('ZCOUNT', P .. 'ls:' .. name, '(' .. num(now - lane.per), '+inf')
    end
    lanes[name], in_order[#in_order + 1] = lane, lane
  end
  return lane
end

-- Decides whether a ready delivery starts (sets `lane`) or waits (sets `parked`, too).
local function take_turn(job, slot, bounds, now)
  local name = slot
  if name == '' then
    name = job.lane_known ~= '' and job.lane_known or bounds[1]
  end
  local lane, let = find_lane(name, bounds, now), slot ~= ''
  local full, room = lane.count > 0 and lane.starts >= lane.count, nil
  if let then
    lane.admitted = lane.admitted - 1
    room = lane.most == 0 or lane.running < lane.most
  else
    room = not lane.waiting and (lane.most == 0 or lane.running + lane.admitted < lane.most)
  end
  job.lane = lane
  if room and not full then
    lane.running, lane.starts = lane.running + 1, lane.starts + 1
    return
  end
  lane.waiting = true
  job.parked, job.let, job.band = full and 'rate_limited' or 'limited', let, job.priority
end

-- Records that a delivery has started, under its token: a repeated claim leases it with another one.
local function enter(job, token, now)
  local lane = job.lane
  redis.call('ZADD', P .. 'la:' .. lane.name, 1, job.id)
  redis.call('HSET', P .. 'j:' .. job.id, 'lane', lane.name, 'slot', lane.name)
  if lane.count > 0 then
    local starts_key = P .. 'ls:' .. lane.name
    redis.call('ZADD', starts_key, num(now), job.id .. ':' .. token)
    redis.call('ZREMRANGEBYSCORE', starts_key, '-inf', num(now - lane.per))
    redis.call('PEXPIRE', starts_key, num(lane.per))
  end
end

-- Puts a delivery into its line: at its rank in the queue, or first of its band if it had already been let out.
local function park(job, now)
  local line_key, first, place = P .. 'lw:' .. job.lane.name, (1 - job.band) * BAND, place_of(job.entry)
  if (job.ahead or job.let) and place > AHEAD then
    place = place - AHEAD
  end
  place = first + place
  if job.let then
    local head = redis.call('ZRANGEBYSCORE', line_key, num(first), num(first + BAND - 1), 'WITHSCORES', 'LIMIT', 0, 1)
    place = math.min(place, tonumber(head[2] or place) - 1)
    redis.call('ZREM', P .. 'la:' .. job.lane.name, job.id)
  end
  dequeue(job.id, job.queue, job.entry)
  redis.call('HSET', P .. 'j:' .. job.id, 'reason', job.parked, 'delivery', '', 'lane', job.lane.name, 'slot', '',
    'waits', '1', 'failing', paused(num(job.failing), now), 'updated', num(now))
  redis.call('ZADD', line_key, num(place), job.id)
  emit_job(job.id, 'batonpass.job.limited', job.agent, job.hop, 'reason', job.parked)
end

-- For each line: lets one more out if there is room, or sets the gate for when there will be. Returns their queues.
local function move_on(now)
  local refilled = {}
  for _, lane in ipairs(in_order) do
    if lane.waiting and lane.count > 0 and lane.starts >= lane.count then
      local nth = redis.call('ZREVRANGE', P .. 'ls:' .. lane.name, lane.count - 1, lane.count - 1, 'WITHSCORES')
      -- None if they expired at once: the server stood still for that long while it was told when they do.
      redis.call('ZADD', GATES, num(tonumber(nth[2] or now) + lane.per), lane.name)
    elseif lane.waiting then
      redis.call('ZADD', GATES, 'NX', num(NEVER), lane.name)
      local room = lane.most == 0 or lane.running + lane.admitted < lane.most
      local queue = room and let_out(lane.name, now)
      if queue then
        refilled[queue] = true
      end
    end
  end
  return refilled
end
