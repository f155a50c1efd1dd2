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
local page, limit = { '+' }, tonumber(ARGV[1])
for _ = 1, 100 do  -- those that a server has evicted are passed over
  local ids = redis.call('ZREVRANGE', key, first, first + limit - 1)
  for _, id in ipairs(ids) do
    local job = #page <= limit and redis.call('HGETALL', P .. 'j:' .. id)
    if job and job[1] then
      page[#page + 1] = job
    end
  end
  if #page > limit or #ids < limit then
    break
  end
  first = first + limit
end
return page
