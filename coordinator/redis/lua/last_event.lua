-- The position of the newest event.
-- KEYS prefix
-- ARGV none
-- Returns {'+', position or '0-0'}
local last = redis.call('XREVRANGE', EVENTS, '+', '-', 'COUNT', 1)
return { '+', last[1] and last[1][1] or '0-0' }
