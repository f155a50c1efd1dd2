-- Ends a delivery with a question: the job waits for its answer.
-- KEYS prefix
-- ARGV job, token, lease, question, checkpoint (5 or more: lib/checkpoint.lua; id '' for none)
-- Returns {'+'}, {'!fenced' ...}, {'!no_job'}, {'!ungrounded', base}, {'!thread', id}
--@ uses clock fence job parts append checkpoint
local id = ARGV[1]
local fields, refused = held(id, ARGV[2], ARGV[3], 'suspend')
if not fields then
  return refused
end
local last, wrong = read_last(5, fields.thread)
if wrong then
  return wrong
end
local count = last and counted(fields)

local now = now_ms()
append_last(last, id, fields, count, now)
redis.call('HSET', P .. 'j:' .. id, unheld('suspend', ARGV[3], now, 'state', 'input_required', 'reason', 'question',
  'question', ARGV[4], 'answer', '', 'tip', fields.tip, 'count', fields.count))
redis.call('ZREM', LEASES, id)
emit_job(id, 'batonpass.job.suspended', fields.agent, fields.hop, 'checkpoint', fields.tip)
return { '+' }
