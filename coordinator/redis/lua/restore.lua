-- One checkpoint with its state.
-- KEYS prefix
-- ARGV checkpoint
-- Returns {'+', {id, thread name, name, commit line, record, what each span holds ...}}, {'!no_checkpoint', id}
--@ uses clock record parts whole
local record, head = read_head(ARGV[1])
if not record or hidden(ARGV[1], head, now_ms()) then
  return refuse('no_checkpoint', ARGV[1])
end
local reply = read_whole(ARGV[1])
table.insert(reply, 2, redis.call('HGET', P .. 't:' .. head.thread, 'name'))
table.insert(reply, 3, name_of(ARGV[1], head.thread))
return { '+', reply }
