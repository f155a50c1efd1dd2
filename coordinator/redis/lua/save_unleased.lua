-- Commits a checkpoint of a thread on which no job runs. The same checkpoint again returns what the first time did.
-- KEYS prefix
-- ARGV thread digest, thread name, parent or '', '1' to branch, agent, where to go on from or '', checkpoint (5 or
--      more: lib/checkpoint.lua)
-- Returns {'+', commit line}, {'>', where to go on from}, {'!busy' ...}, {'!no_checkpoint'}, {'!moved' ...},
--      {'!ungrounded', base}
--@ uses clock holder record thread parts append checkpoint
local thread, name, parent, checkpoint = ARGV[1], ARGV[2], ARGV[3], read_checkpoint(7)
local state = redis.call('HMGET', P .. 't:' .. thread, 'count', 'tip', 'job')
-- A retry after a lost reply must get the first answer, and not a refusal that the first write caused.
local function refused(...)
  local before = saved_before(checkpoint.id)
  return before and { '+', before } or refuse(...)
end
local busy = holder(state[3])
if busy then
  return refused('busy', name, busy)
end
local tip = state[2] or ''
local living = living_tip(thread, tip, now_ms())
if parent == '' then
  parent = living
elseif redis.call('EXISTS', P .. 'c:' .. parent) == 0 then
  return refused('no_checkpoint', parent)
elseif (parent ~= tip or tip ~= living) and ARGV[4] ~= '1' then
  -- The tip may have expired. Where an earlier call stopped only counts if nothing was added since.
  local passed, of = string.match(ARGV[6], '^(%S+) (%d+)$')
  local found, rest = newest(thread, of == state[1] and passed or '+inf', 1, now_ms())
  if not found[1] and rest then
    return { '>', rest .. ' ' .. state[1] }
  elseif not found[1] or found[1][1] ~= parent then
    return refused('moved', parent, living ~= '' and living or 'none')
  end
end
if not grounded(checkpoint) then
  return refused('ungrounded', checkpoint.base)
end

local count = state[1] or '0'
local commit = append(checkpoint, thread, count, parent, now_text(), 'tip', checkpoint.id, 'count', num(count + 1),
  unpack(state[1] and {} or { 'name', name }))
if not commit then
  return { '+', saved_before(checkpoint.id) }
end
if not state[1] then
  redis.call('ZADD', P .. 'threads', 0, name)
end
emit(name, thread, 'batonpass.checkpoint.saved', 'agent', ARGV[5], 'checkpoint', checkpoint.id, 'step', checkpoint.step)
return commit
