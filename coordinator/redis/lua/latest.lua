-- The newest checkpoint of a thread, with its state.
-- KEYS prefix
-- ARGV thread digest, thread name
-- Returns {'+', {id, thread name, record, state, native} or false}
--@ uses clock thread
local found = newest(ARGV[1], '+inf', 1, now_ms())
if not found[1] then
  return { '+', false }
end
local id, record = unpack(found[1])
return { '+', { id, ARGV[2], record, unpack(redis.call('MGET', P .. 's:' .. id, P .. 'b:' .. id)) } }
