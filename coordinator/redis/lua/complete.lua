-- Ends a job with its result.
-- KEYS prefix
-- ARGV job, token, lease, result, checkpoint (5 or more: lib/checkpoint.lua; id '' for none)
-- Returns {'+', queue of each that is ready now}, {'!fenced' ...}, {'!no_job'}, {'!ungrounded', base}, {'!thread', id}
--@ uses clock fence job parts append checkpoint
local id = ARGV[1]
local fields, refused = held(id, ARGV[2], ARGV[3], 'complete', unpack(ENDING))
if not fields then
  return refused
end
local last, wrong = read_last(5, fields.thread)
if wrong then
  return wrong
end
local count = last and counted(fields)

local now = now_ms()
if last then
  relieve()
  append_last(last, id, fields, count, now)
end
local filled = finish(id, fields, 'completed', '', now, 'result', ARGV[4], 'error', '', 'tip', fields.tip)
emit_job(id, 'batonpass.job.completed', fields.agent, fields.hop, 'checkpoint', fields.tip)
return in_one({ '+', unpack(filled) })
