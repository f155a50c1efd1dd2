-- Items: `items` has a member for each, its path and its digest, in the order of paths; `lapses` those that expire.

-- The named fields of an item, after the time when it expires. Nil if it has expired.
local function living(digest, now, ...)
  local item = redis.call('HMGET', P .. 'e:' .. digest, 'until', ...)
  local till = tonumber(item[1])
  if till and (till == 0 or till > now) then
    return item
  end
end

-- Sets when an item expires, 0 for never.
local function lapse(member, till)
  if till > 0 then
    redis.call('ZADD', P .. 'lapses', num(till), member)
  else
    redis.call('ZREM', P .. 'lapses', member)
  end
end

local function drop_item(member)
  redis.call('DEL', P .. 'e:' .. string.sub(member, -32))
  redis.call('ZREM', P .. 'items', member)
  redis.call('ZREM', P .. 'lapses', member)
end
