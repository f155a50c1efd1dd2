-- A page of items in the order of their paths. It ends early when it gets large, or passes many expired ones.
-- KEYS prefix
-- ARGV path to start from, path to end before, limit, '1' for what searches look at
-- Returns {'+', path where it ended or '', time, {path, until, created, updated, ttl, value, what searches look at or
--      ''} ...}
--@ uses clock items
local upto, limit, indexed, now = '(' .. ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1', now_ms()
local from, rows, seen, size, members = '[' .. ARGV[1], { '+', '', num(now) }, 0, 0, nil
repeat
  members = redis.call('ZRANGEBYLEX', P .. 'items', from, upto, 'LIMIT', 0, limit)
  for _, member in ipairs(members) do
    local path = string.sub(member, 1, -33)
    local item = living(string.sub(member, -32), now, 'created', 'updated', 'ttl', 'value', indexed and 'index' or '')
    if item then
      item[6] = item[6] or ''
      rows[#rows + 1] = { path, unpack(item, 1, 6) }
      size = size + #item[5] + #item[6]
    end
    seen = seen + 1
    if #rows - 3 == limit or seen == 500 or size > 1000000 then
      rows[2] = path
      return rows
    end
    from = '(' .. member
  end
until #members < limit
return rows
