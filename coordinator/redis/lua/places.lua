-- A page of a thread's places that have a checkpoint, the greatest key first: of one scope, or of up to 500 scopes.
-- KEYS prefix
-- ARGV thread digest, thread name, scope behind '=' or '' for all, spot to start behind or '', limit, '1' if whole,
--      where to go on from or ''
-- Returns {'+', {spot, {id, thread name, name, commit line, record or its head}, {{name, value} of what was written
--      ...}} ...}, {'>', {where to go on from ...}, the same ...}: at a scope, or below a spot in its scope
--@ uses clock record places
local thread, key, before, limit, now = ARGV[1], P .. 'g:' .. ARGV[1], ARGV[4], tonumber(ARGV[5]), now_ms()
local last_scope, last_key = string.match(before, '^([^%z]*)%z([^%z]*)%z')

-- The bound below which the page begins.
local function bound(scope)
  if before == '' then
    return scope .. '\1'
  end
  return scope .. '\0' .. last_key .. (precedes(scope, last_scope) and '\1' or '\0')
end

-- The greatest spot of each scope, in order. The last is taken, and replaced by the next one of its scope.
local heads = {}
local rests, scopes = {}, 0
local function put_in(scope, below)
  local spots, rest = spots_of(thread, scope, below, 1, now)
  local found = spots[1]
  if not found then
    -- This scope passed many expired ones, as many as one script may in all.
    rests[#rests + 1], scopes = rest, rest and 500 or scopes
    return
  end
  local head = { spot = found[1], id = found[2], scope = scope,
    order = string.sub(found[1], #scope + 2) .. scope }
  local low, high = 1, #heads + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if precedes(heads[middle].order, head.order) then
      low = middle + 1
    else
      high = middle
    end
  end
  table.insert(heads, low, head)
end

local found, rest = {}, nil
if string.find(ARGV[7], '\0', 1, true) then
  found, rest = spots_of(thread, scope_of(ARGV[7]), ARGV[7], limit, now)
  rests[1] = rest
elseif ARGV[3] ~= '' then
  local scope = string.sub(ARGV[3], 2)
  found, rest = spots_of(thread, scope, bound(scope), limit, now)
  rests[1] = rest
else
  local from, member = ARGV[7], nil
  repeat
    member = redis.call('ZRANGEBYLEX', key, '[' .. from, '+', 'LIMIT', 0, 1)[1]
    if member then
      local scope = scope_of(member)
      from, scopes = scope .. '\1', scopes + 1
      put_in(scope, bound(scope))
    end
  until not member or scopes >= 500
  rests[#rests + 1] = member and from
  while #found < limit and #heads > 0 do
    local head = table.remove(heads)
    found[#found + 1] = { head.spot, head.id }
    put_in(head.scope, head.spot)
  end
end

local page = #rests > 0 and { '>', rests } or { '+' }
for _, one in ipairs(found) do
  local spot, id = one[1], one[2]
  local record, head = read_head(id)
  local written = {}
  if ARGV[6] == '1' then
    record, written = redis.call('GET', P .. 'c:' .. id), read_writes(thread, spot)
  end
  page[#page + 1] = { spot, { id, ARGV[2], name_of(id, thread), head.commit, record }, written }
end
return page
