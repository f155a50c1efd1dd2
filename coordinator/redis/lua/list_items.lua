-- A page of items in the order of their paths. It ends early when it gets large, or passes many that it skips or that
-- have expired.
-- KEYS prefix
-- ARGV path to start from, path to end before, limit, '1' for what searches look at, how many to skip
-- Returns {'+', path where it ended or '', time, how many to skip behind that, {path, until, created, updated, ttl,
--      value, what searches look at or ''} ...}
--@ uses clock items
local upto, limit, indexed, skip = '(' .. ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1', tonumber(ARGV[5])
local now, from = now_ms(), '[' .. ARGV[1]
local rows, seen, size = { '+', '', num(now), '0' }, 0, 0
-- Where nothing is waiting to be freed, all are alive.
if skip > 0 and #redis.call('ZRANGEBYSCORE', P .. 'lapses', '-inf', num(now), 'LIMIT', 0, 1) == 0 then
  local passed = math.min(skip, 100000)
  local last = redis.call('ZRANGEBYLEX', P .. 'items', from, upto, 'LIMIT', passed - 1, 1)[1]
  if not last then
    return rows
  end
  skip, from = skip - passed, '(' .. last
end
local many, members = math.min(skip + limit, 500), nil
repeat
  members = redis.call('ZRANGEBYLEX', P .. 'items', from, upto, 'LIMIT', 0, many)
  for _, member in ipairs(members) do
    local path, digest = string.sub(member, 1, -33), string.sub(member, -32)
    if skip > 0 then
      skip = living(digest, now) and skip - 1 or skip
    else
      local item = living(digest, now, 'created', 'updated', 'ttl', 'value', indexed and 'index' or '')
      if item then
        item[6] = item[6] or ''
        rows[#rows + 1] = { path, unpack(item, 1, 6) }
        size = size + #item[5] + #item[6]
      end
    end
    seen = seen + 1
    if #rows - 4 == limit or seen == 500 or size > 1000000 then
      rows[2], rows[4] = path, num(skip)
      return rows
    end
    from = '(' .. member
  end
until #members < many
return rows
