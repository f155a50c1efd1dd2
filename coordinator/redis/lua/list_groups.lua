-- The groups of consumers.
-- KEYS prefix
-- ARGV none
-- Returns {'+', {name, events that nobody has taken, batches that are taken, its maker's own} ...}
--@ uses events
local _, count = trimmed()
local all, found = count + redis.call('XLEN', EVENTS), { '+' }
local groups = redis.call('HGETALL', P .. 'groups')
for i = 1, #groups, 2 do
  local group_key = P .. 'h:' .. groups[i]
  local group = redis.call('HMGET', group_key, 'passed', 'about')
  if group[1] then  -- the server may have evicted it
    local lag = all - math.max(tonumber(group[1]), count)
    found[#found + 1] = { groups[i + 1], lag, redis.call('HLEN', group_key) - 3, group[2] }
  end
end
return found
