-- A page of a thread's places that have a checkpoint, the greatest key first: of one scope, or of 500 in a row.
-- KEYS prefix
-- ARGV thread digest, thread name, scope behind '=' or '' for all, spot to start behind or '', limit, '1' if whole, scope
--      to start from
-- Returns {'+', scope to go on from or '', {spot, {id, thread name, name, commit line, record or its head}, {{name,
--      value} of what was written ...}} ...}
--@ uses clock record places
local thread, key, before, limit, now = ARGV[1], P .. 'g:' .. ARGV[1], ARGV[4], tonumber(ARGV[5]), now_ms()
local last_scope, last_key = string.match(before, '^([^%z]*)%z([^%z]*)%z')

-- What lies behind the given place begins below this.
local function bound(scope)
  if before == '' then
    return scope .. '\1'
  end
  return scope .. '\0' .. last_key .. (precedes(scope, last_scope) and '\1' or '\0')
end

-- The greatest spots of all scopes are kept in order; the last one is taken, and the next one of its scope put in.
local heads = {}
local function put_in(scope, below)
  local found = spots_of(thread, scope, below, 1, now)[1]
  if not found then
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

local found, scopes, after = {}, 0, ''
if ARGV[3] ~= '' then
  local scope = string.sub(ARGV[3], 2)
  found = spots_of(thread, scope, bound(scope), limit, now)
else
  local from = ARGV[7]
  repeat
    local member = redis.call('ZRANGEBYLEX', key, '[' .. from, '+', 'LIMIT', 0, 1)[1]
    if member then
      local scope = scope_of(member)
      put_in(scope, bound(scope))
      from, scopes = scope .. '\1', scopes + 1
    end
  until not member or scopes == 500
  after = scopes == 500 and from or ''
  while #found < limit and #heads > 0 do
    local head = table.remove(heads)
    found[#found + 1] = { head.spot, head.id }
    put_in(head.scope, head.spot)
  end
end

local page = { '+', after }
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
