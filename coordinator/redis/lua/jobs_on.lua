-- A page of a thread's jobs, newest first.
-- KEYS prefix
-- ARGV thread digest, thread, limit, job to start below or '', its time when it was read or a time alone or '0'
-- Returns {'+', job's fields ...}, {'!no_job', job}
--@ uses listing own
local key, limit, before = P .. 'y:' .. ARGV[1], tonumber(ARGV[3]), ARGV[4]
local own = own_job(ARGV[1], ARGV[2])  -- it began the thread, so it is the oldest
local first = 0
if before ~= '' and before == own then
  return { '+' }
elseif tonumber(ARGV[5]) > 0 then
  first = count_above(key, ARGV[5], before)
elseif before ~= '' then
  local rank = redis.call('ZREVRANK', key, before)
  if not rank then
    return refuse('no_job', before)
  end
  first = rank + 1
end
local created = own and before == '' and redis.call('HGET', P .. 'j:' .. own, 'created')
if created and tonumber(ARGV[5]) > 0 and tonumber(created) >= tonumber(ARGV[5]) then
  own = nil
end
local ids = redis.call('ZREVRANGE', key, first, first + limit - 1)
if own and #ids < limit then
  ids[#ids + 1] = own
end
local page = { '+' }
for _, id in ipairs(ids) do
  local row = fitting(redis.pcall('HGETALL', P .. 'j:' .. id))
  if row and row[1] then
    page[#page + 1] = row
  end
end
return page
