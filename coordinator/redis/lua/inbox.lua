-- A page of the jobs that ask, in the order of when they asked and of their ids.
-- KEYS prefix
-- ARGV limit, time (ms since 1970) and job to start behind, or '0' and ''
-- Returns {'+', job's fields ...}
local limit, after, after_id = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local page, skipped = { '+' }, 0
while #page <= limit do
  local found = redis.call('ZRANGEBYSCORE', ASKING, after, '+inf', 'WITHSCORES', 'LIMIT', skipped, limit)
  for i = 1, #found, 2 do
    if #page <= limit and (found[i] > after_id or tonumber(found[i + 1]) > tonumber(after)) then
      local job = fitting(redis.pcall('HGETALL', P .. 'j:' .. found[i]))
      if job and job[1] then  -- the server may have evicted it
        page[#page + 1] = job
      end
    end
  end
  if #found < 2 * limit then
    break
  end
  skipped = skipped + limit
end
return page
