-- Adding to logs. (In two functions: each costs a script something, also where a checkpoint has no parts.)

-- Whether what a checkpoint builds on is there: its base, and logs that end where it goes on. (Their segments don't
-- tell: those in the middle may be freed.)
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

-- Writes what is new of a checkpoint's parts, and notes its use of their spans.
local function write_parts(checkpoint)
  for i = checkpoint.first, checkpoint.last, 3 do
    local log, at, data, from = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2], 1
    while from <= #data do
      local key, room = segment_key(log, at), SEGMENT - at % SEGMENT
      local piece = string.sub(data, from, from + room - 1)
      if redis.call('APPEND', key, piece) == SEGMENT and #piece < SEGMENT then
        -- A string that was appended to has room to grow, as much as it holds: a full one gives that back.
        redis.call('SET', key, redis.call('GET', key))
      end
      from, at = from + #piece, at + #piece
    end
    redis.call('HSET', P .. 'u:' .. log, 'end', num(at))
  end
  for log, first, last in each_span(checkpoint.spans) do
    redis.call('HINCRBY', P .. 'u:' .. log, first .. ':' .. last, 1)
  end
end
