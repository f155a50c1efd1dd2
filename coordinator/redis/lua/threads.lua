-- A page of the threads' names, in the order of their bytes.
-- KEYS prefix
-- ARGV limit, name to start behind or ''
-- Returns {'+', name ...}
local page = redis.call('ZRANGEBYLEX', P .. 'threads', ARGV[2] == '' and '-' or '(' .. ARGV[2], '+',
  'LIMIT', 0, ARGV[1])
table.insert(page, 1, '+')
return page
