-- Puts and deletes items. Each is named once; one that is there keeps the time of its creation.
-- KEYS prefix
-- ARGV number of items to be put, then each of those (digest, path, ms that it is kept or '0', value, what searches look
--      at), then each to be deleted (digest, path)
-- Returns {'+'}
--@ uses clock items
local last, now, created = 1 + 5 * tonumber(ARGV[1]), now_ms(), {}
for i = 2, last, 5 do
  local before = living(ARGV[i], now, 'created')
  created[i] = before and before[2] or num(now)
end

for i = 2, last, 5 do
  local member, ttl = ARGV[i + 1] .. ARGV[i], tonumber(ARGV[i + 2])
  local till = ttl > 0 and now + ttl or 0
  redis.call('ZADD', P .. 'items', 0, member)
  redis.call('HSET', P .. 'e:' .. ARGV[i], 'created', created[i], 'updated', num(now), 'ttl', num(ttl),
    'until', num(till), 'value', ARGV[i + 3], 'index', ARGV[i + 4])
  lapse(member, till)
end
for i = last + 1, #ARGV, 2 do
  drop_item(ARGV[i + 1] .. ARGV[i])
end
return { '+' }
