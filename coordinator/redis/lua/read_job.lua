-- One job.
-- KEYS prefix
-- ARGV job
-- Returns {'+', job's fields}, {'!no_job', job}
local job = fitting(redis.pcall('HGETALL', P .. 'j:' .. ARGV[1])) or {}
if #job == 0 then
  return refuse('no_job', ARGV[1])
end
return { '+', job }
