-- Ends this delivery with a fan-out: the children become jobs, and the job waits for them.
-- KEYS prefix
-- ARGV job, token, lease, fan-out, children in all, how many must be done, how many may be lost, number of children
--      given here, checkpoint (5 or more: lib/checkpoint.lua; id '' for none), then child (lib/children.lua) of each,
--      then key, value of each journal record
-- Returns {'+', queue of each child that is ready}, {'!fenced' ...}, {'!no_job' ...}, {'!ungrounded', base},
--      {'!thread', id}, {'!unstaged', job, how many are there, how many should be}
--@ uses clock holder fence record thread job retry parts append checkpoint children
local id, fan, given = ARGV[1], ARGV[4], tonumber(ARGV[8])
local fields, refused = held(id, ARGV[2], ARGV[3], 'spawn', 'slot', 'priority', 'failing')
if not fields then
  return refused
end
local staged = redis.call('LLEN', P .. 'b:' .. id)
if staged + given ~= tonumber(ARGV[5]) then
  return refuse('unstaged', id, num(staged), num(tonumber(ARGV[5]) - given))
end
local last, wrong = read_last(9, fields)
if wrong then
  return wrong
end
local _, first = read_checkpoint(9)

local now = now_ms()
append_last(last, id, fields, num(now))
redis.call('HSET', P .. 'j:' .. id, unheld(fields.closed, num(now), 'state', 'working', 'reason', 'waiting_children',
  'fan', fan, 'verdict', '', 'children', ARGV[5], 'need', ARGV[6], 'spare', ARGV[7], 'done', '0', 'lost', '0',
  'failing', paused(fields.failing, now), 'tip', fields.tip, 'count', fields.count))
redis.call('ZREM', LEASES, id)
append_journal(id, first + given)
emit_job(id, 'batonpass.job.fanned_out', fields.agent, fields.hop, 'checkpoint', fields.tip, 'children', ARGV[5])
if staged > 0 then
  redis.call('ZADD', P .. 'opening', num(now), id)
end
local queues = { '+' }
make_children(id, fan, fields.priority, { unpack(ARGV, first, first + given - 1) }, now, queues, queues)
queues[#queues + 1] = leave_lane(id, fields.slot, now)
return queues
