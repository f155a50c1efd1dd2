-- The oldest job that is newer than a time: where a page of the jobs up to that time starts below.
-- KEYS prefix
-- ARGV time in ms since 1970
-- Returns {'+', job or ''}
local above = redis.call('ZRANGEBYSCORE', P .. 'jobs', '(' .. ARGV[1], '+inf', 'LIMIT', 0, 1)
return { '+', above[1] or '' }
