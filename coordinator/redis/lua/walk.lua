-- The checkpoint of a place and its ancestors in the thread, nearest first, with what was written at their places, as
-- far as they still exist and have places, up to 64 KB of them, and up to the checkpoint `last`.
-- KEYS prefix
-- ARGV thread digest, thread name, spot, limit, last ('' for none)
-- Returns {'+', {spot, {id, thread name, name, commit line, record}, {{name, value} ...}} ...}
--@ uses clock record places
local thread, spot, limit, last, now = ARGV[1], ARGV[3], tonumber(ARGV[4]), ARGV[5], now_ms()
local line, size, id = { '+' }, 0, id_at(thread, spot) or '-'
while id ~= '-' and #line <= limit and size <= 65536 do
  local start, head = read_head(id)
  if not start or head.thread ~= thread or hidden(id, head, now) then
    break
  elseif #line > 1 then
    spot = split_place(head.place or '')
    if not spot then
      break
    end
  end
  local record = redis.call('GET', P .. 'c:' .. id)
  local written, bytes = read_writes(thread, spot)
  line[#line + 1] = { spot, { id, ARGV[2], name_of(id, thread), head.commit, record }, written }
  if id == last then
    break
  end
  size, id = size + #record - 50 + bytes, head.parent
end
return line
