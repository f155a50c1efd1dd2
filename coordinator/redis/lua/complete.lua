-- Ends a job with its result.
-- KEYS prefix
-- ARGV job, token, lease, result, checkpoint (6; id '' for none)
-- Returns {'+'}, {'!fenced' ...}, {'!no_job'}
--@ uses clock fence job checkpoint
local id = ARGV[1]
local fields, refused = held(id, ARGV[2], ARGV[3], 'complete', 'idem', 'key_ttl')
if not fields then
  return refused
end

local now = now_ms()
relieve()
append_last(id, fields, 5, now)
close(id, 'complete', ARGV[3], now, 'result', ARGV[4], 'error', '', 'tip', fields.tip)
finish(id, fields, 'completed', '')
emit_job(id, 'batonpass.job.completed', fields.agent, fields.hop, 'checkpoint', fields.tip)
return { '+' }
