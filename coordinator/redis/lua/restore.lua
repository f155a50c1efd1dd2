-- One checkpoint with its state.
-- KEYS prefix
-- ARGV checkpoint
-- Returns {'+', {id, thread name, record, state, native}}, {'!no_checkpoint', id}
--@ uses clock thread
local parts = redis.call('MGET', P .. 'c:' .. ARGV[1], P .. 's:' .. ARGV[1], P .. 'b:' .. ARGV[1])
if not parts[1] then
  return refuse('no_checkpoint', ARGV[1])
end
local expires = expires_at(parts[1])
if expires > 0 and expires <= now_ms() then
  return refuse('no_checkpoint', ARGV[1])
end
local thread = string.match(parts[1], '^(%S*)')
return { '+', { ARGV[1], redis.call('HGET', P .. 't:' .. thread, 'name'), unpack(parts) } }
