-- One checkpoint with its state.
-- KEYS prefix
-- ARGV checkpoint
-- Returns {'+', {id, thread name, header, state, native, commit}}, {'!no_checkpoint', id}
--@ uses clock thread
local parts = redis.call('HMGET', P .. 'c:' .. ARGV[1], 'h', 's', 'n', 'm', 't')
if not parts[1] then
  return refuse('no_checkpoint', ARGV[1])
end
local expires = expires_at(parts[4])
if expires > 0 and expires <= now_ms() then
  return refuse('no_checkpoint', ARGV[1])
end
local name = redis.call('HGET', P .. 't:' .. parts[5], 'name')
return { '+', { ARGV[1], name, parts[1], parts[2], parts[3], parts[4] } }
