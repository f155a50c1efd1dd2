-- A page of a thread's checkpoints without their state, newest first.
-- KEYS prefix
-- ARGV thread digest, thread name, limit, checkpoint to start below or ''
-- Returns {'+', {id, thread name, commit line, head of the record} ...}, {'!no_checkpoint', id}
--@ uses clock record thread
local below = '+inf'
if ARGV[4] ~= '' then
  if redis.call('EXISTS', P .. 'c:' .. ARGV[4]) == 0 then
    return refuse('no_checkpoint', ARGV[4])
  end
  local place = redis.call('ZSCORE', P .. 'o:' .. ARGV[1], ARGV[4])
  if not place then
    return { '+' }
  end
  below = '(' .. place
end
local page = { '+' }
for _, found in ipairs(newest(ARGV[1], below, tonumber(ARGV[3]), now_ms())) do
  page[#page + 1] = { found[1], ARGV[2], found[2], found[3] }
end
return page
