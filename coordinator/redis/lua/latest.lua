-- The newest checkpoint of a thread, with its state.
-- KEYS prefix
-- ARGV thread digest, thread name, where to go on from or ''
-- Returns {'+', {id, thread name, name, commit line, record, what each span holds ...} or false}, {'>', where to go on
--      from}
--@ uses clock record parts whole thread
local found, rest = newest(ARGV[1], ARGV[3] ~= '' and ARGV[3] or '+inf', 1, now_ms())
if not found[1] then
  return rest and { '>', rest } or { '+', false }
end
local reply = read_whole(found[1][1])
table.insert(reply, 2, ARGV[2])
table.insert(reply, 3, found[1][2])
return in_one({ '+', reply })
