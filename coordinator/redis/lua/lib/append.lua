-- Adding to logs.

-- Whether a log is `at` bytes long. (Its segments don't tell: those in the middle may be freed.)
local function ends_at(log, at)
  return tonumber(redis.call('HGET', P .. 'u:' .. log, 'end') or 0) == at
end

-- Whether what a checkpoint builds on is there: its base, and logs that end where it goes on.
local function grounded(checkpoint)
  if checkpoint.spans == '' then
    return true
  end
  if checkpoint.base ~= '' and redis.call('EXISTS', P .. 'c:' .. checkpoint.base) == 0 then
    return false
  end
  for i = checkpoint.first, checkpoint.last, 3 do
    if not ends_at(ARGV[i], tonumber(ARGV[i + 1])) then
      return false
    end
  end
  return true
end

local function append_bytes(log, at, data)
  local from = 1
  while from <= #data do
    local key, room = segment_key(log, at), SEGMENT - at % SEGMENT
    local piece = string.sub(data, from, from + room - 1)
    if redis.call('APPEND', key, piece) == SEGMENT and #piece < SEGMENT then
      -- A string that was appended to has room to grow, as much as it holds: a full one gives that back.
      redis.call('SET', key, redis.call('GET', key))
    end
    from, at = from + #piece, at + #piece
  end
end

-- Writes what is new of a checkpoint's parts, and notes its use of their spans.
local function write_parts(checkpoint)
  for i = checkpoint.first, checkpoint.last, 3 do
    append_bytes(ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2])
    redis.call('HSET', P .. 'u:' .. ARGV[i], 'end', num(tonumber(ARGV[i + 1]) + #ARGV[i + 2]))
  end
  for log, first, last in each_span(checkpoint.spans) do
    redis.call('HINCRBY', P .. 'u:' .. log, first .. ':' .. last, 1)
  end
end
