-- Appending to logs. (Two functions, because each costs a script time, and a checkpoint without parts needs only one.)

-- Whether what a checkpoint builds on is still there: its base, and logs that end where it wants to append. (Looking
-- for the segments would not do: those in the middle of a log may have been freed.)
local function grounded(checkpoint)
  if checkpoint.spans == '' then
    return true
  end
  if checkpoint.base ~= '' and redis.call('EXISTS', P .. 'c:' .. checkpoint.base) == 0 then
    return false
  end
  for i = checkpoint.first, checkpoint.last, 3 do
    if tonumber(redis.call('HGET', P .. 'u:' .. ARGV[i], 'end') or 0) ~= tonumber(ARGV[i + 1]) then
      return false
    end
  end
  return true
end

-- Appends the new bytes of a checkpoint's parts to their logs, and counts its use of their spans.
local function write_parts(checkpoint)
  for i = checkpoint.first, checkpoint.last, 3 do
    local log, at, data, from = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2], 1
    while from <= #data do
      local key, room = segment_key(log, at), SEGMENT - at % SEGMENT
      local piece = string.sub(data, from, from + room - 1)
      if redis.call('APPEND', key, piece) == SEGMENT and #piece < SEGMENT then
        -- Redis doubles the room of a string that is appended to. A segment that is full gives the spare room back.
        redis.call('SET', key, redis.call('GET', key))
      end
      from, at = from + #piece, at + #piece
    end
    redis.call('HSET', P .. 'u:' .. log, 'end', num(at))
  end
  for log, first, last in each_span(checkpoint.spans) do
    count_use(log, first, last, 1)
  end
end
