-- What a thread's checkpoints are read by.

-- The newest checkpoints of a thread that have not expired, from a step index downwards: id, name, commit line and head
-- of the record.
local function newest(thread, below, limit, now)
  local found = {}
  local offset = 0
  while #found < limit and offset < 5000 do
    local ids = redis.call('ZREVRANGEBYSCORE', P .. 'o:' .. thread, below, '-inf', 'LIMIT', offset, limit)
    if #ids == 0 then
      break
    end
    offset = offset + #ids
    for _, id in ipairs(ids) do
      local record, head = read_head(id)
      if #found < limit and record and not hidden(id, head, now) then
        found[#found + 1] = { id, name_of(id, thread), head.commit, record }
      end
    end
  end
  return found
end

-- The same of those that have a name: a thread has some hundreds at most.
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
  for i = 1, math.min(#places, limit) do
    local id = places[i][2]
    local record, head = read_head(id)
    found[i] = { id, name_of(id, thread), head.commit, record }
  end
  return found
end

-- The oldest checkpoints of a thread from a step index up to a bound, `limit` at most: id and step index of each.
local function oldest(thread, from, to, limit)
  local flat = redis.call('ZRANGEBYSCORE', P .. 'o:' .. thread, from, to, 'WITHSCORES', 'LIMIT', 0, limit)
  local found = {}
  for i = 1, #flat, 2 do
    found[#found + 1] = { flat[i], tonumber(flat[i + 1]) }
  end
  return found
end
