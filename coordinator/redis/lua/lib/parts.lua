-- Logs: bytes that are appended to, in segments of one size, and the spans of them that checkpoints are made of.

-- With its header it fills an allocation of 64 KB: a power of two would take a quarter more.
local SEGMENT = 65520

local function segment_key(log, at)
  return P .. 'l:' .. log .. ':' .. num(math.floor(at / SEGMENT))
end

-- The spans of a commit line, one by one: log, first, last.
local function each_span(spans)
  return string.gmatch(spans, '([^,:]+):(%d+):(%d+)')
end
