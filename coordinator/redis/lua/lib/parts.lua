-- Logs: bytes that are only appended to, stored in segments of one size. Checkpoints refer to spans of them.

-- With Redis' header, a segment fills an allocation of 64 KB. With a power of two it would take a quarter more.
local SEGMENT = 65520

local function segment_key(log, at)
  return P .. 'l:' .. log .. ':' .. num(math.floor(at / SEGMENT))
end

-- Iterates over the spans of a commit line: log, first, last.
local function each_span(spans)
  return string.gmatch(spans, '([^,:]+):(%d+):(%d+)')
end

-- Counts a use of a span more, or (by -1) less. Returns how many there are, or nil if somebody has damaged the count:
-- what it counts for is then kept for ever. (This is part of a script's second half, which must not stop there.)
local function count_use(log, first, last, by)
  local key, span = P .. 'u:' .. log, first .. ':' .. last
  local count = redis.pcall('HINCRBY', key, span, by)
  if type(count) == 'number' then
    return count
  end
  local held = redis.call('HGET', key, span)
  if held and num(tonumber(held) or 0) ~= held then
    return nil
  end
  return redis.call('HINCRBY', key, span, by)  -- it fails for another reason, which is raised
end
