-- Who has a place in a lane, and when its line moves.
-- KEYS prefix
-- ARGV lane, limit
-- Returns {'+', gate's time or '', jobs}
local holders = redis.call('ZRANGE', P .. 'la:' .. ARGV[1], 0, ARGV[2] - 1)
local opens = redis.call('ZSCORE', GATES, ARGV[1])
return { '+', opens and num(tonumber(opens)) or '', holders }
