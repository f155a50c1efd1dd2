-- Starts the time to live of items anew. Skips those that are gone or do not expire.
-- KEYS prefix
-- ARGV digest and path of each
-- Returns {'+'}
--@ uses clock items
local now, fresh = now_ms(), {}
for i = 1, #ARGV, 2 do
  local item = living(ARGV[i], now, 'ttl')
  if item and item[2] ~= '0' then
    fresh[#fresh + 1] = { ARGV[i], ARGV[i + 1] .. ARGV[i], now + tonumber(item[2]) }
  end
end

if #fresh > 0 then
  relieve()
end
for _, item in ipairs(fresh) do
  redis.call('HSET', P .. 'e:' .. item[1], 'until', num(item[3]))
  lapse(item[2], item[3])
end
return { '+' }
