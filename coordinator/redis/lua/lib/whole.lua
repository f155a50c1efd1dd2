-- Reading a checkpoint with its parts.

-- Of a state with more bytes than this, the client reads the parts itself, because scripts hand over bytes slowly
-- (segments.py).
local MOST = 65536

local function read_span(log, first, last)
  local pieces = {}
  local at = first
  while at < last do
    local stop = math.min(last, at - at % SEGMENT + SEGMENT)
    pieces[#pieces + 1] = redis.call('GETRANGE', segment_key(log, at), at % SEGMENT, (stop - 1) % SEGMENT)
    at = stop
  end
  return #pieces == 1 and pieces[1] or table.concat(pieces)
end

-- Adds to a reply what each of these spans holds, unless that is more than MOST.
local function read_spans(spans, reply)
  local size = 0
  for _, first, last in each_span(spans) do
    size = size + last - first
  end
  if size <= MOST then
    for log, first, last in each_span(spans) do
      reply[#reply + 1] = read_span(log, tonumber(first), tonumber(last))
    end
  end
end

-- A checkpoint for a reply: id, commit line, record, and what each of its spans holds (see `read_spans`). Nil if it is
-- unknown.
local function read_whole(id)
  local record = fitting(redis.pcall('GET', P .. 'c:' .. id))
  if not record then
    return nil
  end
  local commit = redis.call('HGET', P .. 't:' .. string.sub(record, 1, 32), id) or ''
  local reply = { id, commit, record }
  read_spans(string.match(commit, '^%S+ %S+ %S+ %S+ (%S+) ') or '', reply)
  return reply
end
