-- Places of a thread: g:<thread> has a member for each, made of a spot and the id of the checkpoint there ('' if there
-- is none yet). A spot is scope, NUL, key, NUL.

-- Splits a place's text into its spot and the run's digest. Nil if it is not a place. (Patterns would be slower.)
local function split_place(text)
  local scope_end = string.find(text, '\0', 1, true)
  local spot_end = scope_end and string.find(text, '\0', scope_end + 1, true)
  if spot_end then
    return string.sub(text, 1, spot_end), string.sub(text, spot_end + 1)
  end
end

-- Splits a member into its spot and the id of the checkpoint there.
local function split_member(member)
  if string.byte(member, -1) == 0 then
    return member, ''
  end
  return string.sub(member, 1, -25), string.sub(member, -24)
end

local function scope_of(spot)
  return string.sub(spot, 1, string.find(spot, '\0', 1, true) - 1)
end

-- The key of the hash of what was written at a spot: name -> spans or '-', a blank, data.
local function writes_key(thread, spot)
  return P .. 'k:' .. thread .. ':' .. redis.sha1hex(spot)
end

-- The id of the checkpoint at a spot, '' if there is none yet; nil if nothing was put or written there.
local function id_at(thread, spot)
  local found = redis.call('ZRANGEBYLEX', P .. 'g:' .. thread, '[' .. spot, '(' .. string.sub(spot, 1, -2) .. '\1',
    'LIMIT', 0, 1)
  return found[1] and string.sub(found[1], #spot + 1)
end

-- Whether one text comes before another, byte by byte. (Lua's own `<` follows the server's locale.)
local function precedes(a, b)
  local at = 1
  while at <= #a and string.sub(a, at, at + 7) == string.sub(b, at, at + 7) do
    at = at + 8
  end
  for i = at, at + 7 do
    local one, other = string.byte(a, i) or -1, string.byte(b, i) or -1
    if one ~= other then
      return one < other
    end
  end
  return false
end

-- The spots of a scope below a bound whose checkpoint has not expired, greatest first: spot and id of each. If it
-- passes many without one, it stops early and also returns where to go on.
local function spots_of(thread, scope, bound, limit, now)
  local found, size, passed = {}, limit, -1
  while true do
    local page = redis.call('ZREVRANGEBYLEX', P .. 'g:' .. thread, '(' .. bound, '[' .. scope .. '\0', 'LIMIT', 0, size)
    local spots, ids = {}, {}
    for i, member in ipairs(page) do
      spots[i], ids[i] = split_member(member)
    end
    local gone = passed >= 0 and all_hidden(thread, ids, now) or {}
    for i, id in ipairs(ids) do
      local record, head = nil, nil
      if id ~= '' and not gone[i] then
        record, head = read_head(id)
      end
      if record and not hidden(id, head, now) then
        found[#found + 1] = { spots[i], id }
        if #found == limit then
          return found
        end
      end
    end
    if #page < size then
      return found
    end
    bound, passed = spots[#page], passed < 0 and 0 or passed + size
    if passed >= PASSED then
      return found, bound
    end
    size = passed == 0 and 20 or PASSED - passed
  end
end

-- What was written at a spot (name and value of each), and how many bytes that is.
local function read_writes(thread, spot)
  local flat, writes, size = redis.call('HGETALL', writes_key(thread, spot)), {}, 0
  for i = 1, #flat, 2 do
    writes[#writes + 1] = { flat[i], flat[i + 1] }
    size = size + #flat[i + 1] - (string.find(flat[i + 1], ' ', 1, true) or 0)
  end
  return writes, size
end

-- Finds the member of a checkpoint whose commit line can't be read, by looking at all. Slow.
local function member_of(thread, id)
  local offset, page = 0, nil
  repeat
    page = redis.call('ZRANGE', P .. 'g:' .. thread, offset, offset + 499)
    for _, member in ipairs(page) do
      if string.sub(member, -24) == id then
        return member
      end
    end
    offset = offset + 500
  until #page < 500
end
