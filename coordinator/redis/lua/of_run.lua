-- Checkpoints that a run put at places.
-- KEYS prefix
-- ARGV run digest, limit
-- Returns {'+', {thread name, id} ...}
local found = { '+' }
for _, id in ipairs(redis.call('ZRANGE', P .. 'r:' .. ARGV[1], 0, ARGV[2] - 1)) do
  local thread = redis.call('GETRANGE', P .. 'c:' .. id, 0, 31)
  found[#found + 1] = { redis.call('HGET', P .. 't:' .. thread, 'name') or '', id }
end
return found
