-- The job that has a thread, and those that wait for their turn.
-- KEYS prefix
-- ARGV thread digest, limit
-- Returns {'+', job that has it, job that waits ...}, {'+'} if no job has it
local job = redis.call('HGET', P .. 't:' .. ARGV[1], 'job')
if not job or job == '' then
  return { '+' }
end
return { '+', job, unpack(redis.call('LRANGE', P .. 'z:' .. ARGV[1], 0, ARGV[2] - 1)) }
