-- Gives a delivery back, unfinished.
-- KEYS prefix
-- ARGV job, token, lease, how the process that ran it died or '', '1' if it goes behind all that is ready, '1' if its
--      worker was cut off, deaths from which on it waits, deaths that park it, ms of the first wait, ms of the longest
-- Returns {'+', queue of each that is ready now}, {'!fenced' ...}, {'!no_job' ...}
--@ uses clock fence record thread job deaths
local id, crash = ARGV[1], ARGV[4]
local fields, refused = held(id, ARGV[2], ARGV[3], 'release', 'queue', 'worker', 'crashes',
  unpack(ENDING))
-- The late notice of a worker that could not reach the store while its lease ran out.
local over = not fields and ARGV[6] == '1' and redis.call('HMGET', P .. 'j:' .. id, 'closed', 'crashes', 'state')
if not fields and not (over and over[1] == 'expired ' .. ARGV[3] and over[3] ~= 'failed') then
  return refused
end

local now = now_text()
relieve()
if over then
  redis.call('HSET', P .. 'j:' .. id, 'closed', 'release ' .. ARGV[3], 'crashes', num(over[2] - 1), 'updated', now)
  return { '+' }
end
if crash ~= '' then
  fields.token = ARGV[2]
  local limits = { tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10]) }
  local filled = take_back(id, fields, limits, crash, tonumber(now), 'batonpass.job.crashed', 'error', crash)
  return { '+', unpack(filled) }
end
redis.call('ZREM', LEASES, id)
local back = ARGV[5] == '1' and enqueue or go_ahead
back(id, fields.queue, unheld(fields.closed, now))
emit_job(id, 'batonpass.job.released', fields.agent, fields.hop)
return { '+', leave_lane(id, fields.slot, now) }
