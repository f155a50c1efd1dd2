-- Stores what was written at a place, which may not have its checkpoint yet. A write does not replace one of the same
-- name, unless it says so ('again' or 'gone').
-- KEYS prefix
-- ARGV job or '', token, lease, thread digest, thread name, spot, then each write (name, '1' if again or '-' if gone,
--      value)
-- Returns {'+'}, {'!fenced' ...}, {'!no_job' ...}, {'!thread', spot}, {'!busy' ...}, {'!ungrounded', spot}
--@ uses fence holder record parts places free writes
local thread, name, spot = ARGV[4], ARGV[5], ARGV[6]
local fields, refused
if ARGV[1] ~= '' then
  fields, refused = held(ARGV[1], ARGV[2], ARGV[3])
  if not fields then
    return refused
  elseif fields.thread ~= thread then
    return refuse('thread', spot)
  end
end
local state = redis.call('HMGET', P .. 't:' .. thread, 'count', 'job')
local busy = not fields and holder(state[2])
if busy then
  return refuse('busy', name, busy)
elseif not held_by_logs(7, {}) then
  return refuse('ungrounded', spot)
elseif #ARGV == 6 then
  return { '+' }
end
local is_new, writes = not id_at(thread, spot), new_writes(7, thread, spot)

local dropped = {}
note(writes, thread, spot, is_new, dropped)
free_logs(dropped)
if not state[1] then
  redis.call('HSET', P .. 't:' .. thread, 'name', name, 'count', '0')
  redis.call('ZADD', P .. 'threads', 0, name)
end
return { '+' }
