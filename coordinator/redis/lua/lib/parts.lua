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
