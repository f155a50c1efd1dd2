-- Reading a thread's checkpoints.

-- The newest unexpired checkpoints of a thread, from a step index downwards: id, name, commit line and head of the
-- record. If it passes many expired ones, it stops early and also returns where to go on.
local function newest(thread, below, limit, now)
  local found, key, size, passing = {}, P .. 'o:' .. thread, limit, false
  while true do
    local ids = redis.call('ZREVRANGEBYSCORE', key, below, '-inf', 'LIMIT', 0, size)
    local gone = passing and all_hidden(thread, ids, now) or {}
    for i, id in ipairs(ids) do
      local record, head = nil, nil
      if not gone[i] then
        record, head = read_head(id)
      end
      if record and not hidden(id, head, now) then
        found[#found + 1] = { id, name_of(id, thread), head.commit, record }
        if #found == limit then
          return found
        end
      end
    end
    if #ids < size then
      return found
    end
    below = '(' .. redis.call('ZSCORE', key, ids[#ids])
    if passing then
      return found, below
    end
    size, passing = PASSED, true
  end
end

-- Id and commit line of the newest unexpired checkpoint, for scripts that write and so can't stop half-way. Below tens
-- of thousands of expired ones it takes the next, expired or not.
local function newest_left(thread, now)
  local found, below = nil, '+inf'
  for _ = 1, 100 do
    found, below = newest(thread, below, 1, now)
    if found[1] or not below then
      return found[1] and found[1][1], found[1] and found[1][3]
    end
  end
  local id = redis.call('ZREVRANGEBYSCORE', P .. 'o:' .. thread, below, '-inf', 'LIMIT', 0, 1)[1]
  return id, id and redis.call('HGET', P .. 't:' .. thread, id)
end

-- A thread's tip; if that has expired, the newest checkpoint that is left, as if it had been freed.
local function living_tip(thread, tip, now)
  if tip == '' or not redis.call('ZSCORE', P .. 'expiry', tip) then
    return tip
  end
  local _, head = read_head(tip)
  if head and not hidden(tip, head, now) then
    return tip
  end
  return newest_left(thread, now) or ''
end

-- The step index of the n-th newest checkpoint of a thread that has not expired and is not lost. Nil if there are
-- fewer, and beyond tens of thousands of which some have expired. Also returns the lost ones that it has met. It looks
-- no further than needed, because each page of a prune asks again: behind hundreds that are all there, none is lost.
local function nth_newest(thread, n, now)
  local key, below, lost, size = P .. 'o:' .. thread, '+inf', {}, math.min(n, PASSED)
  local any_expired = redis.call('ZCOUNT', P .. 'expiry', '-inf', num(now)) > 0
  for _ = 1, 100 do
    local ids = redis.call('ZREVRANGEBYSCORE', key, below, '-inf', 'LIMIT', 0, size)
    local gone, missing = any_expired and all_hidden(thread, ids, now) or {}, all_lost(ids)
    local met = #lost
    for i, id in ipairs(ids) do
      if missing[i] then
        lost[#lost + 1] = id
      elseif not gone[i] then
        n = n - 1
      end
      if n == 0 then
        return redis.call('ZSCORE', key, id), lost
      end
    end
    if #ids < size then
      return nil, lost
    end
    below, size = '(' .. redis.call('ZSCORE', key, ids[#ids]), PASSED
    if #lost == met and not any_expired then
      break
    end
  end
  local rest = any_expired and {}
    or redis.call('ZREVRANGEBYSCORE', key, below, '-inf', 'WITHSCORES', 'LIMIT', n - 1, 1)
  return rest[2], lost
end

-- As `newest`, but only those with a name. A thread has a few hundred names at most.
local function newest_named(thread, below, limit)
  local places = {}
  for _, field in ipairs(redis.call('HKEYS', P .. 'm:' .. thread)) do
    local id = string.match(field, '^@(.*)')
    local place = id and tonumber(redis.call('ZSCORE', P .. 'o:' .. thread, id))
    if place and place < below then
      places[#places + 1] = { place, id }
    end
  end
  table.sort(places, function(a, b) return a[1] > b[1] end)
  local found = {}
  for _, each in ipairs(places) do
    local id = each[2]
    local record, head = read_head(id)
    if record and #found < limit then
      found[#found + 1] = { id, name_of(id, thread), head.commit, record }
    end
  end
  return found
end

-- The oldest checkpoints of a thread between two step indexes, `limit` at most: id and step index of each.
local function oldest(thread, from, to, limit)
  local flat = redis.call('ZRANGEBYSCORE', P .. 'o:' .. thread, from, to, 'WITHSCORES', 'LIMIT', 0, limit)
  local found = {}
  for i = 1, #flat, 2 do
    found[#found + 1] = { flat[i], tonumber(flat[i + 1]) }
  end
  return found
end

-- What the jobs that run on a thread, or wait for it (the first 500), will go on from: checkpoint -> job.
local function needed_on(thread)
  local jobs, found = redis.call('LRANGE', P .. 'z:' .. thread, 0, 499), {}
  jobs[#jobs + 1] = redis.call('HGET', P .. 't:' .. thread, 'job') or ''
  for _, id in ipairs(jobs) do
    local tip = id ~= '' and redis.call('HGET', P .. 'j:' .. id, 'tip') or ''
    if tip ~= '' then
      found[tip] = id
    end
  end
  return found
end
