-- Events after a position, oldest first, of one subject if given.
-- KEYS prefix
-- ARGV position or '', subject or '', how many to look at
-- Returns {'+', {position, {field, value ...}} ...}, {'!cursor', position}; the last may have no fields: it only says
--         how far was looked
if ARGV[1] ~= '' and not string.find(ARGV[1], '-', 1, true) then
  return refuse('cursor', ARGV[1])
end
local from = ARGV[1] ~= '' and '(' .. ARGV[1] or '-'
local entries = redis.call('XRANGE', EVENTS, from, '+', 'COUNT', ARGV[3])
local page = { '+' }
for i, entry in ipairs(entries) do
  local fields = entry[2]
  if ARGV[2] == '' or fields[4] == ARGV[2] then
    page[#page + 1] = { entry[1], fields }
  elseif i == #entries then
    page[#page + 1] = { entry[1], {} }
  end
end
return page
