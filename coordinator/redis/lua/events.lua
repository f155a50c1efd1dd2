-- Events after a position, oldest first: those about one subject, if given, and those wanted. Also each event that says
-- that the store went back in time, because every reader has to know that.
-- KEYS prefix
-- ARGV position or '', subject or '', how many to look at, 1 if the position was kept for long, agent or '', thread or
--      '', then types
-- Returns {'+', {position, {field, value ...}} ...}, {'!cursor', position}, {'!trimmed', position, newest that was},
--         {'!rewound', position, an earlier one}; the last may have no fields: it only says how far was looked
--@ uses events

-- After a failover, the new server's clock may be this many ms behind. What it writes comes after the cursor's event
-- anyway, so whatever was lost, all of it is there from so much earlier on.
local LOST_MS = 600000
local after, subject = ARGV[1], ARGV[2]
if after ~= '' and not string.match(after, '^%d+%-%d+$') then
  return refuse('cursor', after)
end
local gone = trimmed()
if after ~= '' and before(after, gone) then
  return refuse('trimmed', after, gone)
end
-- Whether a position is valid: its event is there, was trimmed, or is in another partition since a repartition.
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
