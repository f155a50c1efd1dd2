-- One job.
-- KEYS prefix
-- ARGV job
-- Returns {'+', job's fields}, {'!no_job', job}
local job = redis.call('HGETALL', P .. 'j:' .. ARGV[1])
if #job == 0 then
  return refuse('no_job', ARGV[1])
end
return { '+', job }
