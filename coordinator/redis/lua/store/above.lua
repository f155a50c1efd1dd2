-- The oldest job that is newer than a time: a page that starts below it has the jobs up to that time.
-- KEYS prefix
-- ARGV time in ms since 1970, '1' for failed ones and the times when they failed
-- Returns {'+', job or ''}
local key = P .. 'jobs'
if ARGV[2] == '1' then
  key = P .. 'dead'
end
local above = redis.call('ZRANGEBYSCORE', key, '(' .. ARGV[1], '+inf', 'LIMIT', 0, 1)
return { '+', above[1] or '' }
