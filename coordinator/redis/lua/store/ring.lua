-- Tells the door of a queue that a partition has deliveries for it, and so wakes one worker. All workers of a namespace
-- wait at the doors in its partition 0. What lies there is needed only for a moment, because a worker looks into every
-- partition before it waits.
-- KEYS prefix
-- ARGV queue, partition, number of deliveries, ms to keep it
-- Returns {'+'}
local doors = P .. 'd:' .. ARGV[1]
redis.call('ZINCRBY', doors, ARGV[3], ARGV[2])
redis.call('PEXPIRE', doors, ARGV[4])
return { '+' }
