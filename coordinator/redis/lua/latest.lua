-- The newest checkpoint of a thread, with its state.
-- KEYS prefix
-- ARGV thread digest, thread name
-- Returns {'+', {id, thread name, header, state, native, commit} or false}
--@ uses clock thread
local found = newest(ARGV[1], '+inf', 1, now_ms(), 'h', 's', 'n')
if not found[1] then
  return { '+', false }
end
local parts = found[1][2]
return { '+', { found[1][1], ARGV[2], parts[2], parts[3], parts[4], parts[1] } }
