-- A page of what a job has streamed, oldest first.
-- KEYS prefix
-- ARGV job, position to start behind or '', limit
-- Returns {'+', {position, data} ...}, {'!cursor', position}, {'!no_job', job}
local start = '-'
if ARGV[2] ~= '' then
  if not string.match(ARGV[2], '^%d+%-%d+$') then
    return refuse('cursor', ARGV[2])
  end
  start = '(' .. ARGV[2]
end
local page = { '+' }
for _, entry in ipairs(redis.call('XRANGE', P .. 's:' .. ARGV[1], start, '+', 'COUNT', ARGV[3])) do
  page[#page + 1] = { entry[1], entry[2][2] }
end
return page
