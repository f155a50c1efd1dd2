-- Commits a checkpoint of a place, and what was written at its parent's place. The same checkpoint again returns what
-- the first time did.
-- KEYS prefix
-- ARGV job or '', token, lease, thread digest, thread name, spot of the parent (of no key for none), spot that must be
--      the latest (of no key for none) or '', agent, where to go on from or '', checkpoint (5 or more:
--      lib/checkpoint.lua), then each write (name, '1' if again or '-' if gone, value)
-- Returns {'+', commit line}, {'>', where to go on from}, {'!fenced' ...}, {'!no_job' ...}, {'!thread', id},
--      {'!busy' ...}, {'!outrun' ...}, {'!ungrounded', base}
--@ uses clock fence holder record parts append checkpoint places free put writes
local thread, name, parent_spot, tip_spot, now = ARGV[4], ARGV[5], ARGV[6], ARGV[7], now_ms()
local checkpoint, rest = read_checkpoint(10)
checkpoint.spot, checkpoint.run = split_place(checkpoint.place)
local spot, places_key = checkpoint.spot, P .. 'g:' .. thread
local scope = scope_of(spot)
local orphan = parent_spot == scope .. '\0\0'

-- A retry after a lost reply must get the first answer, and not a refusal that the first write caused.
local function refused(...)
  local before = saved_before(checkpoint.id)
  return before and { '+', before } or refuse(...)
end

local fields, fenced
if ARGV[1] ~= '' then
  fields, fenced = held(ARGV[1], ARGV[2], ARGV[3])
  if not fields then
    return fenced
  elseif fields.thread ~= thread then
    return refused('thread', checkpoint.id)
  end
end
-- Most are put behind all others of their scope, and have the last of those as parent: one look finds all of that.
local top = redis.call('ZREVRANGEBYLEX', places_key, '(' .. scope .. '\1', '[' .. scope .. '\0', 'LIMIT', 0, 1)[1]
local last, last_id = nil, ''
if top then
  last, last_id = split_member(top)
end
local state = redis.call('HMGET', P .. 't:' .. thread, 'count', 'tip', 'job', last_id)
local busy = not fields and holder(state[3])
if busy then
  return refused('busy', name, busy)
end
local count = fields and fields.count ~= '' and fields.count or state[1] or '0'
local is_behind = not last or precedes(last, spot)
local is_last = is_behind or last == spot
if tip_spot ~= '' or not is_last and scope == '' then
  local latest = last
  local stays = string.find(state[4] or '', '^%S+ %S+ %d+ 0 ') and redis.call('EXISTS', P .. 'c:' .. last_id) == 1
  if last and not stays then
    -- Where an earlier call stopped only counts if nothing was added since.
    local of, passed = string.match(ARGV[9], '^(%d+) (.*)$')
    local found, stopped = spots_of(thread, scope, of == count and passed or scope .. '\1', 1, now)
    if not found[1] and stopped then
      return { '>', count .. ' ' .. stopped }
    end
    latest = found[1] and found[1][1]
  end
  latest = latest or scope .. '\0\0'
  if tip_spot ~= '' and tip_spot ~= latest then
    return refused('outrun', name, string.sub(tip_spot, #scope + 2, -2), string.sub(latest, #scope + 2, -2))
  end
  is_last = is_last or not precedes(spot, latest)
end
if not grounded(checkpoint) then
  return refused('ungrounded', checkpoint.base)
elseif not held_by_logs(rest, checkpoint) then
  return refused('ungrounded', checkpoint.id)
end
local function find(wanted)
  if wanted == last then
    return last_id
  end
  return last and id_at(thread, wanted)
end
if not is_behind then
  checkpoint.there = find(spot)
end
local there = checkpoint.there ~= '' and checkpoint.there
local parent = (rest <= #ARGV or not orphan) and find(parent_spot)
local writes = rest <= #ARGV and new_writes(rest, thread, parent_spot)

local tip = fields and fields.count ~= '' and fields.tip or state[2] or ''
local moved = tip == there or scope == '' and (is_last or tip == '')
local more = num(tonumber(count) + 1)
checkpoint.looked, checkpoint.dropped = true, {}
local commit = append(checkpoint, thread, count, not orphan and parent or '', num(now),
  'name', name, 'count', more, unpack(moved and { 'tip', checkpoint.id } or {}))
if not commit then
  return { '+', saved_before(checkpoint.id) }
end
if writes then
  note(writes, thread, parent_spot, not parent and parent_spot ~= spot, checkpoint.dropped)
end
free_logs(checkpoint.dropped)
if not state[1] then
  redis.call('ZADD', P .. 'threads', 0, name)
end
if fields then
  -- Once the job counts its checkpoints itself, the thread gets tip and count when it ends: see lib/checkpoint.lua.
  local told = { 'updated', num(now) }
  if moved or fields.count ~= '' then
    told[3], told[4] = 'count', more
  end
  if moved or fields.tip == there then
    told[#told + 1], told[#told + 2] = 'tip', checkpoint.id
  end
  redis.call('HSET', P .. 'j:' .. ARGV[1], unpack(told))
  emit_job(ARGV[1], 'batonpass.checkpoint.saved', fields.agent, fields.hop, 'checkpoint', checkpoint.id,
    'step', checkpoint.step)
else
  emit(name, thread, 'batonpass.checkpoint.saved', 'agent', ARGV[8], 'checkpoint', checkpoint.id,
    'step', checkpoint.step)
end
return { '+', commit }
