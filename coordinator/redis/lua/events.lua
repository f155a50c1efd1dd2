-- Events after a position, oldest first, of one subject if given, and of those only that are wanted; and each that
-- tells that the store went back in time, because whoever reads has to know.
-- KEYS prefix
-- ARGV position or '', subject or '', how many to look at, 1 if the position was kept for long, agent or '', thread or
--      '', then types
-- Returns {'+', {position, {field, value ...}} ...}, {'!cursor', position}, {'!trimmed', position, newest that was},
--         {'!rewound', position, an earlier one}; the last may have no fields: it only says how far was looked
--@ uses events

-- So many ms may the clock of a server that takes over be behind: what it writes comes after the cursor's event, so
-- from so much earlier on it is all there, however much was lost.
local LOST_MS = 600000
local after, subject = ARGV[1], ARGV[2]
if after ~= '' and not string.match(after, '^%d+%-%d+$') then
  return refuse('cursor', after)
end
local gone = trimmed()
if after ~= '' and before(after, gone) then
  return refuse('trimmed', after, gone)
end
-- The event of a position is there, or was trimmed, or is in another partition since a repartition.
if ARGV[4] == '1' and after ~= '' and before(gone, after) and not redis.call('XRANGE', EVENTS, after, after)[1]
  and before(redis.call('GET', P .. 'dealt') or '0-0', after) then
  local back = math.max(tonumber(string.match(after, '^%d+')) - LOST_MS, 0)
  local earlier = redis.call('XREVRANGE', EVENTS, num(back), '-', 'COUNT', 1)[1]
  return refuse('rewound', after, earlier and earlier[1] or gone)
end
local entries = redis.call('XRANGE', EVENTS, after ~= '' and '(' .. after or '-', '+', 'COUNT', ARGV[3])
local fits, page = wanted(5), { '+' }
for i, entry in ipairs(entries) do
  local fields = entry[2]
  if fields[2] == 'batonpass.store.rewound' or (subject == '' or fields[4] == subject) and fits(fields) then
    page[#page + 1] = { entry[1], fields }
  elseif i == #entries then
    page[#page + 1] = { entry[1], {} }
  end
end
if after == '' and not entries[1] then
  page[2] = { gone, {} }
end
return page
