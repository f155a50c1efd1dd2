-- The checkpoint of a place, or the latest of a scope, with its state and what was written there.
-- KEYS prefix
-- ARGV thread digest, thread name, scope, key or '', spot to go on below or ''
-- Returns {'+', {spot, {id, thread name, name, commit line, record, what each span holds ...}, {{name, value, what each
--      span holds ...} ...}} or false}, {'>', spot to go on below}
--@ uses clock record parts whole places
local thread, scope, now = ARGV[1], ARGV[3], now_ms()
local spot, id = scope .. '\0' .. ARGV[4] .. '\0', nil
if ARGV[4] ~= '' then
  id = id_at(thread, spot)
  local record, head = read_head(id or '')
  if not record or hidden(id, head, now) then
    return { '+', false }
  end
else
  local found, rest = spots_of(thread, scope, ARGV[5] ~= '' and ARGV[5] or scope .. '\1', 1, now)
  if not found[1] then
    return rest and { '>', rest } or { '+', false }
  end
  spot, id = found[1][1], found[1][2]
end

local reply, written = read_whole(id), read_writes(thread, spot)
table.insert(reply, 2, ARGV[2])
table.insert(reply, 3, name_of(id, thread))
for _, write in ipairs(written) do
  read_spans(string.match(write[2], '^[^ -]+') or '', write)
end
return { '+', { spot, reply, written } }
