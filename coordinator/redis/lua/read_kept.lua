-- One job, its hop's journal, and how the children of its fan-outs ended.
-- KEYS prefix
-- ARGV job
-- Returns {'+', job's fields, journal's, outcomes by fan-out and number}, {'!no_job', job}
local id = ARGV[1]
local job = redis.call('HGETALL', P .. 'j:' .. id)
if #job == 0 then
  return refuse('no_job', id)
end
return { '+', job, redis.call('HGETALL', P .. 'n:' .. id), redis.call('HGETALL', P .. 'f:' .. id) }
