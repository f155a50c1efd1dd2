-- How many live workers there are, each counted once. Asked by a repartition, which may be repeated.
-- KEYS prefix
-- ARGV queue of each
-- Returns {'+', number}
--@ uses clock
local since, seen, number = '(' .. num(now_ms()), {}, 0
for _, queue in ipairs(ARGV) do
  for _, worker in ipairs(redis.call('ZRANGEBYSCORE', P .. 'p:' .. queue, since, '+inf')) do
    if not seen[worker] then
      seen[worker], number = true, number + 1
    end
  end
end
return { '+', number }
