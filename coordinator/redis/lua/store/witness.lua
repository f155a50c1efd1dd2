-- Says whether the store still has what a client saw of it. If it went back in time, records that as an event, once.
-- KEYS prefix
-- ARGV position of the newest event that was seen or '0-0', epoch that was seen or ''
-- Returns {'+', position of the newest event, epoch, 1 if the store went back in time, else 0}
--@ uses events
local known, seen = ARGV[1], ARGV[2]
local epoch = redis.call('GET', P .. 'epoch') or ''
local newest = redis.call('XREVRANGE', EVENTS, '+', '-', 'COUNT', 1)
local told = redis.call('GET', P .. 'rewound')
local lost = seen ~= '' and epoch ~= seen
if not lost and known ~= '0-0' and not redis.call('XRANGE', EVENTS, known, known)[1] then
  -- A trimmed event is older than all that are left.
  local oldest = redis.call('XRANGE', EVENTS, '-', '+', 'COUNT', 1)
  lost = not oldest[1] or before(oldest[1][1], known)
end

-- The id of that event: after everything that anybody saw, even if the new server's clock is behind. Followers go on
-- from what they saw last, and ids only grow from here on.
local function following(id)
  local ms, number = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms) >= redis.call('TIME')[1] * 1000
    and ms .. '-' .. string.format('%.0f', tonumber(number) + 1) or '*'
end

local position = newest[1] and newest[1][1] or '0-0'
if lost and (not told or before(told, known)) then
  -- A user who may only read, or a server that is full, can't record it, and is told all the same.
  local added = redis.pcall('XADD', EVENTS, before(position, known) and following(known) or '*',
    'type', 'batonpass.store.rewound', 'subject', 'store', 'known', known, 'left', position)
  if type(added) == 'string' then
    redis.call('SET', P .. 'rewound', added)
    redis.pcall('PUBLISH', P .. 'live:store', 'batonpass.store.rewound ' .. added)
    position = added
  end
end
return { '+', position, epoch, lost and 1 or 0 }
