-- A page of a thread's checkpoints without their state, newest first.
-- KEYS prefix
-- ARGV thread digest, thread name, limit, checkpoint to start below or '', '1' for those with a name only, where to
--      go on from or ''
-- Returns {'+', {id, thread name, name, commit line, head of the record} ...}, {'>', where to go on from, the same
--      ...}, {'!no_checkpoint', id}, {'!not_on', id, thread name}
--@ uses clock record thread
local limit, place = tonumber(ARGV[3]), nil
if ARGV[4] ~= '' and ARGV[6] == '' then
  if redis.call('EXISTS', P .. 'c:' .. ARGV[4]) == 0 then
    return refuse('no_checkpoint', ARGV[4])
  end
  place = redis.call('ZSCORE', P .. 'o:' .. ARGV[1], ARGV[4])
  if not place then
    return refuse('not_on', ARGV[4], ARGV[2])
  end
end
local found, rest
if ARGV[5] == '1' then
  found = newest_named(ARGV[1], tonumber(place or math.huge), limit)
else
  local below = place and '(' .. place or '+inf'
  found, rest = newest(ARGV[1], ARGV[6] ~= '' and ARGV[6] or below, limit, now_ms())
end
local page = rest and { '>', rest } or { '+' }
for _, row in ipairs(found) do
  page[#page + 1] = { row[1], ARGV[2], row[2], row[3], row[4] }
end
return page
