-- Gives a delivery back, unfinished.
-- KEYS prefix
-- ARGV job, token, lease
-- Returns {'+'}, {'!fenced' ...}, {'!no_job'}
--@ uses clock fence job
local id = ARGV[1]
local fields, refused = held(id, ARGV[2], ARGV[3], 'release', 'queue')
if not fields then
  return refused
end

relieve()
redis.call('ZREM', LEASES, id)
enqueue(id, fields.queue, unheld('release', ARGV[3], now_ms()))
emit_job(id, 'batonpass.job.released', fields.agent, fields.hop)
return { '+' }
