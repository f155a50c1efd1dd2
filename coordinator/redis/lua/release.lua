-- Gives a delivery back, unfinished.
-- KEYS prefix
-- ARGV job, token, lease, how the process that ran it died or '', '1' if it goes behind all that is ready, deaths from
--      which on it does, deaths that park a job
-- Returns {'+', queue of each that is ready now}, {'!fenced' ...}, {'!no_job'}
--@ uses clock fence job
local id, crash = ARGV[1], ARGV[4]
local fields, refused = held(id, ARGV[2], ARGV[3], 'release', 'queue', 'worker', 'crashes',
  unpack(ENDING))
if not fields then
  return refused
end

local crashes, now = num(fields.crashes + 1), now_text()
relieve()
if crash == '' then
  redis.call('ZREM', LEASES, id)
  local back = ARGV[5] == '1' and enqueue or go_ahead
  back(id, fields.queue, unheld(fields.closed, now))
  emit_job(id, 'batonpass.job.released', fields.agent, fields.hop)
elseif tonumber(crashes) < tonumber(ARGV[7]) then
  redis.call('ZREM', LEASES, id)
  local back = tonumber(crashes) < tonumber(ARGV[6]) and go_ahead or enqueue
  back(id, fields.queue, unheld(fields.closed, now, 'crashes', crashes))
  emit_job(id, 'batonpass.job.crashed', fields.agent, fields.hop,
    'worker', fields.worker, 'token', ARGV[2], 'error', crash)
else
  return { '+', unpack(park_poisoned(id, fields, crashes, now)) }
end
return { '+', leave_lane(id, fields.slot, now) }
