-- Takes a batch for a consumer: one that another took and did not finish in time, else the next events.
-- KEYS prefix
-- ARGV group digest, its name, batch, lease ms, how many to look at, how many batches may be taken, agent or '', thread
--      or '', then types
-- Returns {'+', 1 if it is worth asking again at once, last position, {position, {field, value ...}} ...} of a batch,
--      else no more than the first two, {'!no_group', name}, {'!behind', name, newest that was trimmed}
--@ uses clock events groups
local digest, id = ARGV[1], ARGV[3]
local front, passed, batches = read_group(digest)
if not front then
  return refuse('no_group', ARGV[2])
end
local now = now_ms()
local again, count = batches[id] and id, 0
for other, batch in pairs(batches) do
  count = count + 1
  local over = batch.ends <= now and not batches[id]
  if over and (not again or before(batch.first, batches[again].first)) then
    again = other
  end
end
local first = again and batches[again].first or front
local gone = trimmed()
if before(first, gone) then
  return refuse('behind', ARGV[2], gone)
elseif not again and count >= tonumber(ARGV[6]) then
  return { '+', 0 }
end
local to, most = again and batches[again].last or '+', again and 500 or ARGV[5]
local entries = redis.call('XRANGE', EVENTS, '(' .. first, to, 'COUNT', most)
if not entries[1] and not again then
  return { '+', 0 }
end
local last = again and batches[again].last or entries[#entries][1]
local fits, page = wanted(7), { '+', 1, last }
for _, entry in ipairs(entries) do
  if fits(entry[2]) then
    page[#page + 1] = entry
  end
end

if page[4] then
  put_batch(digest, id, first, last, now + tonumber(ARGV[4]))
end
if not again then
  redis.call('HSET', P .. 'h:' .. digest, 'front', last, 'passed', num(passed + #entries))
elseif again ~= id or not page[4] then
  redis.call('HDEL', P .. 'h:' .. digest, '#' .. again)
end
return page[4] and page or { '+', 1 }
