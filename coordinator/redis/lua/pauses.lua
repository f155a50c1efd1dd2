-- The agents that are paused.
-- KEYS prefix
-- ARGV none
-- Returns {'+', {agent, since when and why, ...}}
return { '+', redis.call('HGETALL', P .. 'paused') }
