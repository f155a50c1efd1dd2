-- The newest checkpoint of a thread, with its state.
-- KEYS prefix
-- ARGV thread digest, thread name
-- Returns {'+', {id, thread name, name, commit line, record, what each span holds ...} or false}
--@ uses clock record parts whole thread
local found = newest(ARGV[1], '+inf', 1, now_ms())
if not found[1] then
  return { '+', false }
end
local reply = read_whole(found[1][1])
table.insert(reply, 2, ARGV[2])
table.insert(reply, 3, found[1][2])
return { '+', reply }
