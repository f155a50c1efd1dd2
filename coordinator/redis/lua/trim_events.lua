-- Frees the oldest events.
-- KEYS prefix
-- ARGV how many stay, how many go at most
-- Returns {'+', how many went}
--@ uses events
local length = redis.call('XLEN', EVENTS)
local over = math.min(length - tonumber(ARGV[1]), tonumber(ARGV[2]))
if over <= 0 then
  return { '+', 0 }
end
local _, count = trimmed()

-- Not in one step: which event goes last is only known when it has become the first.
redis.call('XTRIM', EVENTS, 'MAXLEN', num(length - over + 1))
local last = redis.call('XRANGE', EVENTS, '-', '+', 'COUNT', 1)[1][1]
redis.call('SET', P .. 'trimmed', last .. ' ' .. num(count + over))
redis.call('XTRIM', EVENTS, 'MAXLEN', num(length - over))
return { '+', over }
