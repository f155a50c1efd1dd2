-- A checkpoint's record: one string of words, header, state and native part. The words are the thread's digest, the commit
-- line (step index, parent, created, expires, spans, seal), and how long header and state are.

local WORDS = '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%d+) (%d+) ()'

-- A record without state and native part, and what its words say; nil for an unknown checkpoint. A damaged record is
-- given whole, with nothing said of it: its reader notices.
local function read_head(id)
  local key = P .. 'c:' .. id
  local record = redis.call('GETRANGE', key, 0, 1023)
  if record == '' then
    return nil
  end
  local thread, _, _, _, expires, spans, _, length, _, at = string.match(record, WORDS)
  if #record == 1024 and (not at or at + length > 1025) then
    record = redis.call('GET', key)
    thread, _, _, _, expires, spans, _, length, _, at = string.match(record, WORDS)
  end
  if not at then
    return record, { thread = string.match(record, '^%S*'), expires = 0, spans = '-' }
  end
  local head = { thread = thread, expires = tonumber(expires) or 0, spans = spans }
  return string.sub(record, 1, at + length - 1), head
end
