-- The groups of consumers.
-- KEYS prefix
-- ARGV 1 to also count the events that are taken but not done
-- Returns {'+', {name, events that nobody has taken, batches that are taken, its maker's own, events that are taken but
--      not done} ...}
--@ uses events groups
local function unfinished(batches)
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
  local _, passed, batches = read_group(groups[i])
  if passed then  -- the server may have evicted it
    local taken = 0
    for _ in pairs(batches) do
      taken = taken + 1
    end
    local about = redis.call('HMGET', P .. 'h:' .. groups[i], 'about')[1]
    local left = ARGV[1] == '1' and unfinished(batches) or 0
    found[#found + 1] = { groups[i + 1], all - math.max(passed, count), taken, about, left }
  end
end
return found
