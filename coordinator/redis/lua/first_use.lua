-- The job that used an idempotency key first. On a cluster it may live elsewhere: then only its id.
-- KEYS prefix
-- ARGV idempotency digest
-- Returns {'+', job's fields, or false}
local id = redis.call('HGET', P .. 'i:' .. ARGV[1], 'job')
if not id then
  return { '+', false }
end
local job = redis.call('HGETALL', P .. 'j:' .. id)
return { '+', job[1] and job or { 'id', id } }
