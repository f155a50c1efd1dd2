-- Notes how far a consumer is in its batch, and renews its lease.
-- KEYS prefix
-- ARGV group digest, batch, position or '', lease ms or '0' to give it back
-- Returns {'+', 1 if the batch is still that consumer's, else 0}
--@ uses clock events groups
local digest, id = ARGV[1], ARGV[2]
local _, _, batches = read_group(digest)
local batch = batches[id]
if not batch then
  return { '+', 0 }
end
local now, done = now_ms(), ARGV[3]
if done == '' or before(done, batch.first) then
  done = batch.first
end

relieve()
if before(done, batch.last) then
  put_batch(digest, id, done, batch.last, now + tonumber(ARGV[4]))
else
  redis.call('HDEL', P .. 'h:' .. digest, '#' .. id)
end
return { '+', 1 }
