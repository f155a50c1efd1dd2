-- A page of jobs, newest first.
-- KEYS prefix
-- ARGV limit, job to start below or '', '1' for failed ones only (the last to fail first)
-- Returns {'+', job's fields ...}, {'!no_job', job}
local key = P .. 'jobs'
if ARGV[3] == '1' then
  key = P .. 'dead'
end
local first = 0
if ARGV[2] ~= '' then
  local rank = redis.call('ZREVRANK', key, ARGV[2])
  local updated = not rank and redis.call('HGET', P .. 'j:' .. ARGV[2], 'updated')
  if rank then
    first = rank + 1
  elseif updated then  -- it failed no more since the page before was read
    first = redis.call('ZCOUNT', key, updated, '+inf')
  else
    return refuse('no_job', ARGV[2])
  end
end
local page = { '+' }
for _, id in ipairs(redis.call('ZREVRANGE', key, first, first + tonumber(ARGV[1]) - 1)) do
  page[#page + 1] = redis.call('HGETALL', P .. 'j:' .. id)
end
return page
