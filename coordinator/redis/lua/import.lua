-- Commits checkpoints to a thread in order, with the given parents. The same again returns what the first time did.
-- KEYS prefix
-- ARGV thread digest, thread name, how many it had so far, then of each: step index and time of its first commit
--      elsewhere, its name (or '', '', ''), parent or '', agent, checkpoint (lib/checkpoint.lua)
-- Returns {'+', commit line ...}, {'!busy', thread, job}, {'!exists', thread}, {'!thread', id}, {'!ungrounded', base}
--@ uses clock holder record parts append checkpoint places free put
local thread, name, count = ARGV[1], ARGV[2], tonumber(ARGV[3])
local found, before, at = {}, {}, 4
while at <= #ARGV do
  local one = { index = ARGV[at], created = ARGV[at + 1], name = ARGV[at + 2], parent = ARGV[at + 3],
    agent = ARGV[at + 4] }
  one.checkpoint, at = read_checkpoint(at + 5)
  found[#found + 1], before[#before + 1] = one, saved_before(one.checkpoint.id)
end
if #before > 0 then
  return { '+', unpack(before) }
end
local state = redis.call('HMGET', P .. 't:' .. thread, 'count', 'job')
local busy = holder(state[2])
if busy then
  return refuse('busy', name, busy)
elseif tonumber(state[1] or 0) ~= count then
  return refuse('exists', name)
end
local logs = {}
for _, one in ipairs(found) do
  if string.sub(one.checkpoint.record, 1, 32) ~= thread then
    return refuse('thread', one.checkpoint.id)
  elseif not grounded(one.checkpoint) then
    return refuse('ungrounded', one.checkpoint.base)
  end
  for i = one.checkpoint.first or 1, one.checkpoint.last or 0, 3 do
    if logs[ARGV[i]] then  -- if two appended to one log, the second would not lie where it expects to
      return refuse('ungrounded', one.checkpoint.base)
    end
    logs[ARGV[i]] = true
  end
end

local now, lines = now_text(), { '+' }
for i, one in ipairs(found) do
  local id, elsewhere = one.checkpoint.id, one.created ~= ''
  local index = elsewhere and one.index or num(count + i - 1)
  lines[#lines + 1] = append(one.checkpoint, thread, index, one.parent, elsewhere and one.created or now,
    'name', name, 'tip', id, 'count', num(index + 1))
  if one.name ~= '' then
    redis.call('HSET', P .. 'm:' .. thread, '@' .. id, one.name, '=' .. one.name, id)
  end
  if not elsewhere then
    emit(name, thread, 'batonpass.checkpoint.saved', 'agent', one.agent, 'checkpoint', id, 'step', one.checkpoint.step)
  end
end
if not state[1] then
  redis.call('ZADD', P .. 'threads', 0, name)
end
return lines
