-- How children of a fan-out ended, in order.
-- KEYS prefix
-- ARGV job, fan-out, first number, limit
-- Returns {'+', {number, what lib/job.lua packed} of each that ended}
local first, names = tonumber(ARGV[3]), {}
for i = 1, tonumber(ARGV[4]) do
  names[i] = ARGV[2] .. ' ' .. num(first + i - 1)
end
local page = { '+' }
for i, packed in ipairs(redis.call('HMGET', P .. 'f:' .. ARGV[1], unpack(names))) do
  if packed then
    page[#page + 1] = { first + i - 1, packed }
  end
end
return page
