-- Ends a delivery with a question: the job waits for its answer.
-- KEYS prefix
-- ARGV job, token, lease, question, terms, assignee, timeout ms or '0', answer that is taken then or '', escalation or
--      '', '1' if the last answer was not one or '0', checkpoint (5 or more: lib/checkpoint.lua; id '' for none)
-- Returns {'+', queue of each that is ready now, or soon}, {'!fenced' ...}, {'!no_job' ...}, {'!ungrounded', base},
--      {'!thread', id}
--@ uses clock fence record thread job parts append checkpoint
local id, timeout = ARGV[1], tonumber(ARGV[7])
local fields, refused = held(id, ARGV[2], ARGV[3], 'suspend', 'slot', 'asked', 'failing', 'queue',
  'assignee', 'escalation', 'escalated')
if not fields then
  return refused
end
local last, wrong = read_last(11, fields)
if wrong then
  return wrong
end

local now = now_ms()
-- Each question of a job has a name of its own.
local asked = num(math.max(now, tonumber(fields.asked or '0') + 1))
local assignee, escalation, escalated = ARGV[6], ARGV[9], '0'
local due = timeout > 0 and num(now + timeout) or ''
local before, later = string.match(fields.escalation or '', '^(%d+)\n(.*)$')
if ARGV[10] == '1' and before then
  due, assignee, escalation, escalated = before, fields.assignee, later, fields.escalated
end
append_last(last, id, fields, num(now))
redis.call('HSET', P .. 'j:' .. id, unheld(fields.closed, num(now), 'state', 'input_required', 'reason', 'question',
  'question', ARGV[4], 'answer', '', 'terms', ARGV[5], 'assignee', assignee, 'otherwise', ARGV[8],
  'escalation', escalation, 'escalated', escalated, 'asked', asked, 'due', due,
  'failing', paused(fields.failing, now), 'tip', fields.tip, 'count', fields.count))
redis.call('ZADD', ASKING, asked, id)
local filled = { '+' }
if due ~= '' then
  filled[2] = set_timer(id, due, fields.queue, now)
end
redis.call('ZREM', LEASES, id)
emit_job(id, 'batonpass.job.suspended', fields.agent, fields.hop, 'checkpoint', fields.tip, 'assignee', assignee,
  'due', due)
filled[#filled + 1] = leave_lane(id, fields.slot, now)
return filled
