-- Puts and deletes items, each named once. An item that exists keeps its creation time.
-- KEYS prefix
-- ARGV kind of an event about the first one or '', its subject, when that one was last written if the event is to be
--      said, what it says (packed) or '', number of items to be put, then each of those (digest, path, ms that it is
--      kept or '0', value, what searches look at), then each to be deleted (digest, path)
-- Returns {'+'}
--@ uses clock items
local last, now, created = 5 + 5 * tonumber(ARGV[5]), now_ms(), {}
local news = ARGV[1] ~= '' and (redis.call('HGET', P .. 'e:' .. ARGV[6], 'updated') or '0') == ARGV[3]
for i = 6, last, 5 do
  local before = living(ARGV[i], now, 'created')
  created[i] = before and before[2] or num(now)
end

for i = 6, last, 5 do
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
if news then
  emit(ARGV[2], ARGV[6], ARGV[1], told(ARGV[4]))
end
return { '+' }
