-- Commits a checkpoint of a job, and journal records with it. The same checkpoint again returns what the first time
-- did.
-- KEYS prefix
-- ARGV job, token, lease, checkpoint (5 or more: lib/checkpoint.lua), then key, value of each journal record
-- Returns {'+', commit line}, {'!fenced' ...}, {'!no_job' ...}, {'!ungrounded', base}, {'!thread', id}
--@ uses clock fence parts append checkpoint
local id = ARGV[1]
local checkpoint, rest = read_checkpoint(4)
local fields, refused = held(id, ARGV[2], ARGV[3])
if not fields then
  return refused
end
if string.sub(checkpoint.record, 1, 32) ~= fields.thread then
  return refuse('thread', checkpoint.id)
end
if not grounded(checkpoint) then
  local before = saved_before(checkpoint.id)
  return before and { '+', before } or refuse('ungrounded', checkpoint.base)
end

local count, now = counted(fields), now_text()
local commit = append(checkpoint, fields.thread, count, fields.tip, now)
if not commit then
  return { '+', saved_before(checkpoint.id) }
end
append_journal(id, rest)
redis.call('HSET', P .. 'j:' .. id, 'tip', checkpoint.id, 'count', num(count + 1), 'updated', now)
emit(id, id, 'batonpass.checkpoint.saved', 'agent', fields.agent, 'hop', fields.hop, 'checkpoint', checkpoint.id,
  'step', checkpoint.step)
return commit
