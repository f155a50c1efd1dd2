-- Adds a job that ran in another store and has ended, or asks. The same again changes nothing.
-- KEYS prefix
-- ARGV job, thread digest, thread name, state, created, updated, asked, its fields (packed, as all that follows), its
--      journal, its children's outcomes by fan-out and number, what happened to it there (a list of fields for each)
-- Returns {'+'}, {'!busy', thread, job}
--@ uses holder
local id, thread, name, state = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if redis.call('EXISTS', P .. 'j:' .. id) == 1 then
  return { '+' }
end
local asks, found = state == 'input_required', redis.call('HMGET', P .. 't:' .. thread, 'job', 'count')
local busy = holder(found[1])
if asks and busy then
  return refuse('busy', name, busy)
end
local fields, journal, outcomes = cmsgpack.unpack(ARGV[8]), cmsgpack.unpack(ARGV[9]), cmsgpack.unpack(ARGV[10])
local news = cmsgpack.unpack(ARGV[11])
local function put(key, flat)
  for i = 1, #flat, 2 do
    redis.call('HSET', key, flat[i], flat[i + 1])
  end
end

put(P .. 'j:' .. id, fields)
put(P .. 'n:' .. id, journal)
put(P .. 'f:' .. id, outcomes)
redis.call('ZADD', P .. 'jobs', ARGV[5], id)
if name ~= id then
  redis.call('ZADD', P .. 'y:' .. thread, ARGV[5], id)
end
if state == 'failed' then
  redis.call('ZADD', P .. 'dead', ARGV[6], id)
elseif asks then
  redis.call('ZADD', ASKING, ARGV[7], id)
end
redis.call('HSET', P .. 't:' .. thread, 'name', name, 'job', asks and id or busy or '', 'count', found[2] or '0')
redis.call('ZADD', P .. 'threads', 0, name)
for _, each in ipairs(news) do
  emit(id, id, 'batonpass.event.imported', unpack(each))
end
return { '+' }
