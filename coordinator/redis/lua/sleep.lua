-- Ends a delivery: the job goes on when its time has come. It has come this far, so its attempts are counted anew.
-- KEYS prefix
-- ARGV job, token, lease, delay in ms, checkpoint (5 or more: lib/checkpoint.lua; id '' for none)
-- Returns {'+', queue of each that is ready now, or soon}, {'!fenced' ...}, {'!no_job' ...}, {'!ungrounded', base},
--      {'!thread', id}
--@ uses clock fence record thread job parts append checkpoint
local id = ARGV[1]
local fields, refused = held(id, ARGV[2], ARGV[3], 'sleep', 'slot', 'queue')
if not fields then
  return refused
end
local last, wrong = read_last(5, fields)
if wrong then
  return wrong
end

local now = now_ms()
local due = num(now + math.max(tonumber(ARGV[4]), 1))
append_last(last, id, fields, num(now))
redis.call('HSET', P .. 'j:' .. id, unheld(fields.closed, num(now), 'state', 'submitted', 'reason', 'sleeping',
  'due', due, 'attempt', '1', 'crashes', '0', 'failing', '0', 'error', '', 'tip', fields.tip, 'count', fields.count))
redis.call('ZREM', LEASES, id)
local filled = { '+', set_timer(id, due, fields.queue, now) }
emit_job(id, 'batonpass.job.sleeping', fields.agent, fields.hop, 'checkpoint', fields.tip, 'due', due)
filled[#filled + 1] = leave_lane(id, fields.slot, now)
return filled
