-- Ends a delivery without a result: the next attempt gets a timer, or the job ends.
-- KEYS prefix
-- ARGV job, token, lease, error, reason, retry in ms or '', state of the end, what was spent or ''
-- Returns {'+', queue of each that is ready now}, {'!fenced' ...}, {'!no_job' ...}
--@ uses clock fence record thread job
local id = ARGV[1]
local fields, refused = held(id, ARGV[2], ARGV[3], 'fail', 'attempt', 'failing', 'queue', unpack(ENDING))
if not fields then
  return refused
end

local now, filled = now_text(), {}
if ARGV[6] ~= '' then
  local due, attempt = num(now + math.max(tonumber(ARGV[6]), 1)), num(read_num(fields.attempt) + 1)
  local failing = read_num(fields.failing) > 0 and fields.failing or now
  close(id, fields.closed, now, 'error', ARGV[4], 'state', 'submitted', 'reason', 'retry_at', 'attempt', attempt,
    'due', due, 'failing', failing)
  filled[1] = set_timer(id, due, fields.queue, now)
  emit_job(id, 'batonpass.job.retrying', fields.agent, fields.hop,
    'attempt', attempt, 'due', due, 'error', ARGV[4])
  filled[#filled + 1] = leave_lane(id, fields.slot, now)
else
  fields.spent = ARGV[8]
  filled = finish(id, fields, ARGV[7], ARGV[5], now, 'error', ARGV[4])
  local kind = ARGV[7] == 'rejected' and 'batonpass.job.rejected' or 'batonpass.job.failed'
  emit_job(id, kind, fields.agent, fields.hop, 'reason', ARGV[5], 'error', ARGV[4])
end
return in_one({ '+', unpack(filled) })
