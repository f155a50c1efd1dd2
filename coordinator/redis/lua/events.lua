-- Events after a position, oldest first, of one subject if given, and of those only that are wanted; and each that tells
-- that the store went back in time, because whoever reads has to know.
-- KEYS prefix
-- ARGV position or '', subject or '', how many to look at, agent or '', thread or '', then types
-- Returns {'+', {position, {field, value ...}} ...}, {'!cursor', position}, {'!trimmed', position, newest that was}; the
--         last may have no fields: it only says how far was looked
--@ uses events
local after, subject = ARGV[1], ARGV[2]
if after ~= '' and not string.match(after, '^%d+%-%d+$') then
  return refuse('cursor', after)
end
local gone = trimmed()
if after ~= '' and before(after, gone) then
  return refuse('trimmed', after, gone)
end
local entries = redis.call('XRANGE', EVENTS, after ~= '' and '(' .. after or '-', '+', 'COUNT', ARGV[3])
local fits, page = wanted(4), { '+' }
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
