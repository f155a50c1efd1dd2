-- Adds records to the hop's journal.
-- KEYS prefix
-- ARGV job, token, lease, then key, value of each record
-- Returns {'+'}, {'!fenced' ...}, {'!no_job' ...}
--@ uses fence
local fields, refused = held(ARGV[1], ARGV[2], ARGV[3])
if not fields then
  return refused
end

append_journal(ARGV[1], 4)
return in_one({ '+' })
