-- A page of the labels under which there are items, in the order of their paths. It ends early when it passes many
-- expired items.
-- KEYS prefix
-- ARGV path to start from, path to end before, limit
-- Returns {'+', path to go on from or '', path of labels ...}
--@ uses clock items
local upto, limit, now = '(' .. ARGV[2], tonumber(ARGV[3]), now_ms()
local from, spaces, seen, member = '[' .. ARGV[1], { '+', '' }, 0, nil
repeat
  member = redis.call('ZRANGEBYLEX', P .. 'items', from, upto, 'LIMIT', 0, 1)[1]
  if member then
    -- A key begins with \1, a label with \2.
    local space = string.sub(member, 1, string.find(member, '\0\1', 1, true) or 0)
    seen = seen + 1
    if living(string.sub(member, -32), now) then
      spaces[#spaces + 1] = space
      from = '[' .. space .. '\2'
    else
      from = '[' .. string.sub(member, 1, -33) .. '\127'
    end
  end
until not member or seen == 500 or #spaces - 2 == limit
if member then
  spaces[2] = string.sub(from, 2)
end
return spaces
