-- Freeing checkpoints, and the parts of logs that nobody uses any more.

-- A script frees checkpoints of this many spans in all, or a few more: each takes about 10 us, and one that was
-- compacted may have hundreds.
local MOST_SPANS = 500

-- How many spans a checkpoint has, given its head.
local function span_count(head)
  local _, marks = string.gsub(head.spans, ':', '')
  return marks / 2
end

-- The ranges of a log that are in use, as pairs of first and last byte, in order.
local function covered(log)
  local spans = {}
  for _, field in ipairs(redis.call('HKEYS', P .. 'u:' .. log)) do
    local first, last = string.match(field, '^(%d+):(%d+)$')
    if first then
      spans[#spans + 1] = { tonumber(first), tonumber(last) }
    end
  end
  table.sort(spans, function(a, b) return a[1] < b[1] end)
  local merged = {}
  for _, span in ipairs(spans) do
    local before = merged[#merged]
    if before and span[1] <= before[2] then
      before[2] = math.max(before[2], span[2])
    else
      merged[#merged + 1] = span
    end
  end
  return merged
end

-- The last byte in use below `stop`, in the segment that begins at `start`; nil if there is none.
local function used_until(start, stop, living)
  local last = nil
  for _, span in ipairs(living) do
    if span[1] < stop and span[2] > start then
      last = math.min(span[2], stop)
    end
  end
  return last
end

local function free_span(log, first, last, living)
  for start = first - first % SEGMENT, last - 1, SEGMENT do
    local key, used = segment_key(log, start), used_until(start, start + SEGMENT, living)
    if not used then
      redis.call('DEL', key)
    elseif used - start < redis.call('STRLEN', key) then
      redis.call('SET', key, redis.call('GETRANGE', key, 0, used - start - 1))
    end
  end
end

-- Whether, for each of these spans, a span in use reaches from the same byte to the end of the log: as always where a
-- text only grew. (A long thread has a span for each checkpoint, and going through them all would take milliseconds.)
local function all_grown(log, spans)
  local stop = redis.call('HGET', P .. 'u:' .. log, 'end')
  for _, span in ipairs(spans) do
    if not stop or redis.call('HEXISTS', P .. 'u:' .. log, num(span[1]) .. ':' .. stop) == 0 then
      return false
    end
  end
  return true
end

-- Frees what only dropped checkpoints used. `dropped` is log -> list of spans.
local function free_logs(dropped)
  for log, spans in pairs(dropped) do
    local living = not all_grown(log, spans) and covered(log)
    for _, span in ipairs(living and spans or {}) do
      free_span(log, span[1], span[2], living)
    end
    if living and #living == 0 then
      redis.call('DEL', P .. 'u:' .. log)
    elseif living then
      redis.call('HSET', P .. 'u:' .. log, 'end', num(living[#living][2]))
    end
  end
end

-- Counts one user less for these spans. Those without users are added to `dropped`, which `free_logs` takes at the end.
local function disuse(spans, dropped)
  for log, first, last in each_span(spans) do
    local left = count_use(log, first, last, -1)
    if left and left <= 0 then
      redis.call('HDEL', P .. 'u:' .. log, first .. ':' .. last)
      dropped[log] = dropped[log] or {}
      table.insert(dropped[log], { tonumber(first), tonumber(last) })
    end
  end
end

-- Removes a member of a thread's places, and what was written there.
local function vacate(thread, member, dropped)
  if not member or redis.call('ZREM', P .. 'g:' .. thread, member) == 0 then
    return
  end
  local spot = split_member(member)
  for _, value in ipairs(redis.call('HVALS', writes_key(thread, spot))) do
    disuse(string.match(value, '^%S+') or '', dropped)
  end
  redis.call('DEL', writes_key(thread, spot))
end

-- Removes a checkpoint from its place, if it has one.
local function leave(id, thread, head, dropped)
  if not head.place then
    vacate(thread, member_of(thread, id), dropped)
  elseif head.place ~= '' then
    local spot, run = split_place(head.place)
    if spot and run ~= '' then
      redis.call('ZREM', P .. 'r:' .. run, id)
    end
    vacate(thread, spot and spot .. id, dropped)
  end
end

-- Removes a checkpoint, given its head, together with its name and its place.
local function discard(id, thread, head, dropped)
  local name = name_of(id, thread)
  redis.call('ZREM', P .. 'o:' .. thread, id)
  redis.call('ZREM', P .. 'expiry', id)
  redis.call('HDEL', P .. 't:' .. thread, id)
  redis.call('DEL', P .. 'c:' .. id)
  if name ~= '' then
    redis.call('HDEL', P .. 'm:' .. thread, '@' .. id, '=' .. name)
  end
  leave(id, thread, head, dropped)
  disuse(head.spans, dropped)
end

-- Moves the thread's tip back to the newest checkpoint that is left.
local function fall_back(thread, now)
  redis.call('HSET', P .. 't:' .. thread, 'tip', newest_left(thread, now) or '')
end

-- Drops a checkpoint, and emits that. Returns its thread's name.
local function drop(id, head, now, dropped)
  local thread = head.thread
  discard(id, thread, head, dropped)
  local state = redis.call('HMGET', P .. 't:' .. thread, 'tip', 'job', 'name')
  if state[1] == id then
    fall_back(thread, now)
  end
  if state[2] and state[2] ~= '' then
    emit(state[2], state[2], 'batonpass.checkpoint.expired', 'checkpoint', id)
  else
    emit(state[3], thread, 'batonpass.checkpoint.expired', 'checkpoint', id)
  end
  return state[3]
end

-- Frees checkpoints of a thread, given as pairs of id and head, and what only they used.
local function free(old, thread, now)
  local tip, fell, dropped = redis.call('HGET', P .. 't:' .. thread, 'tip'), false, {}
  for _, one in ipairs(old) do
    discard(one[1], thread, one[2], dropped)
    fell = fell or one[1] == tip
  end
  free_logs(dropped)
  if fell then
    fall_back(thread, now)
  end
end
