-- Groups of consumers. Each is a hash: `front` (the last event that was taken), `passed` (how many events that makes),
-- `about` (what its maker keeps with it), and `#<batch>` for each batch that is taken but not done: the event before
-- the rest of the batch, its last event, and when its lease ends.

-- A group's front, passed, and its batches by id. Nothing for an unknown group.
local function read_group(digest)
  local items, front, passed, batches = redis.call('HGETALL', P .. 'h:' .. digest), nil, nil, {}
  for i = 1, #items, 2 do
    if items[i] == 'front' then
      front = items[i + 1]
    elseif items[i] == 'passed' then
      passed = tonumber(items[i + 1])
    elseif items[i] ~= 'about' then
      local first, last, ends = string.match(items[i + 1], '^(%S+) (%S+) (%d+)$')
      batches[string.sub(items[i], 2)] = { first = first, last = last, ends = tonumber(ends) }
    end
  end
  return front, passed, batches
end

local function put_batch(digest, id, first, last, ends)
  redis.call('HSET', P .. 'h:' .. digest, '#' .. id, first .. ' ' .. last .. ' ' .. num(ends))
end
