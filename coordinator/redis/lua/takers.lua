-- How many live workers take deliveries from a queue.
-- KEYS prefix
-- ARGV queue
-- Returns {'+', number}
--@ uses clock
return { '+', redis.call('ZCOUNT', P .. 'p:' .. ARGV[1], '(' .. num(now_ms()), '+inf') }
