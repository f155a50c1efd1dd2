-- Adds to what a job streams, and wakes its readers. A stream is kept for a while after the last addition.
-- KEYS prefix
-- ARGV job, token, lease, how many are kept, for how many ms, then data of each
-- Returns {'+'}, {'!fenced' ...}, {'!no_job' ...}
--@ uses fence
local id = ARGV[1]
local fields, refused = held(id, ARGV[2], ARGV[3])
if not fields then
  return refused
end

for i = 6, #ARGV do
  redis.call('XADD', P .. 's:' .. id, 'MAXLEN', ARGV[4], '*', 'data', ARGV[i])
end
redis.call('PEXPIRE', P .. 's:' .. id, ARGV[5])
redis.pcall('PUBLISH', P .. 'live:' .. id, 'streamed')
return { '+' }
