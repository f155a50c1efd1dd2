-- The groups of consumers.
-- KEYS prefix
-- ARGV how the names of those begin of which the events are also counted that are taken but not done ('': none)
-- Returns {'+', {name, events that nobody has taken, batches that are taken, its maker's own, events that are taken but
--      not done} ...}
--@ uses events groups
local function unfinished(digest)
  local _, _, batches = read_group(digest)
  local left = 0
  for _, batch in pairs(batches) do
    left = left + #redis.call('XRANGE', EVENTS, '(' .. batch.first, batch.last, 'COUNT', 500)
  end
  return left
end

local _, count = trimmed()
local all, found = count + redis.call('XLEN', EVENTS), { '+' }
local groups = redis.call('HGETALL', P .. 'groups')
for i = 1, #groups, 2 do
  local group_key = P .. 'h:' .. groups[i]
  local group = redis.call('HMGET', group_key, 'passed', 'about')
  if group[1] then  -- the server may have evicted it
    local lag, taken = all - math.max(tonumber(group[1]), count), redis.call('HLEN', group_key) - 3
    local wanted = ARGV[1] ~= '' and string.sub(groups[i + 1], 1, #ARGV[1]) == ARGV[1]
    found[#found + 1] = { groups[i + 1], lag, taken, group[2], wanted and unfinished(groups[i]) or 0 }
  end
end
return found
