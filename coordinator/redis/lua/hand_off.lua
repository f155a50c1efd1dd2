-- Ends this delivery and makes the next one, for another agent, together with the last checkpoint.
-- KEYS prefix
-- ARGV job, token, lease, agent, contract, queue, envelope, what the event says more (packed) or '', lane or '',
--      what was spent or '', checkpoint (5 or more: lib/checkpoint.lua; id '' for none)
-- Returns {'+', queue of one that is ready now}, {'!fenced' ...}, {'!no_job' ...}, {'!ungrounded', base},
--      {'!thread', id}
--@ uses clock fence record thread job parts append checkpoint
local id = ARGV[1]
local fields, refused = held(id, ARGV[2], ARGV[3], 'hand_off', 'slot', 'attempt', 'crashes', 'asked', 'children')
if not fields then
  return refused
end
local last, wrong = read_last(11, fields)
if wrong then
  return wrong
end

local now, hop = now_text(), num(fields.hop + 1)
append_last(last, id, fields, now)
enqueue(id, ARGV[6], unheld(fields.closed, now, 'agent', ARGV[4], 'contract', ARGV[5], 'queue', ARGV[6],
  'envelope', ARGV[7], 'hop', hop, 'lane', ARGV[9], 'tip', fields.tip, 'count', fields.count))
if fields.attempt ~= '1' or fields.crashes ~= '0' or fields.asked or fields.children then  -- rare
  redis.call('HSET', P .. 'j:' .. id, 'attempt', '1', 'crashes', '0', 'failing', '0', 'question', '', 'answer', '',
    'error', '', 'fan', '')
end
redis.call('ZREM', LEASES, id)
redis.call('UNLINK', P .. 'n:' .. id, P .. 'f:' .. id)
if ARGV[10] ~= '' then
  redis.call('HSET', P .. 'n:' .. id, 'spent', ARGV[10])
end
emit(id, id, 'batonpass.job.handed_off', 'agent', ARGV[4], 'hop', hop, 'sender', fields.agent,
  'checkpoint', fields.tip, told(ARGV[8]))
return leave_lane(id, fields.slot, now) or '+'
