-- A checkpoint and its ancestors, nearest first, as far as they still exist.
-- KEYS prefix
-- ARGV checkpoint, limit
-- Returns {'+', {id, thread name, name, commit line, head of the record} ...}
--@ uses clock record
local now, limit, line = now_ms(), tonumber(ARGV[2]), { '+' }
local id = ARGV[1]
while id ~= '-' and #line <= limit do
  local record, head = read_head(id)
  if not record or hidden(id, head, now) then
    break
  end
  local name = redis.call('HGET', P .. 't:' .. head.thread, 'name')
  line[#line + 1] = { id, name, name_of(id, head.thread), head.commit, record }
  id = head.parent
end
return line
