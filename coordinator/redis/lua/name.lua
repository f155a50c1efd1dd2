-- Names a checkpoint, uniquely in its thread, or takes its name away. A named one does not expire.
-- KEYS prefix
-- ARGV checkpoint, name or '', how many names a thread may have
-- Returns {'+'}, {'!no_checkpoint', id}, {'!named', thread, name, other}, {'!names', thread, number}
--@ uses clock record
local id, name = ARGV[1], ARGV[2]
local record, head = read_head(id)
if not record or hidden(id, head, now_ms()) then
  return refuse('no_checkpoint', id)
end
local state = redis.call('HMGET', P .. 't:' .. head.thread, 'name', 'job')
local before, names_key = name_of(id, head.thread), P .. 'm:' .. head.thread
if name == before then
  return { '+' }
end
if name ~= '' then
  local other = redis.call('HGET', names_key, '=' .. name)
  if other then
    return refuse('named', state[1], name, other)
  elseif before == '' and redis.call('HLEN', names_key) >= 2 * tonumber(ARGV[3]) then
    return refuse('names', state[1], ARGV[3])
  end
end

if name ~= '' then
  redis.call('HSET', names_key, '@' .. id, name, '=' .. name, id)
  redis.call('ZREM', P .. 'expiry', id)
else
  redis.call('HDEL', names_key, '@' .. id)
  if head.expires > 0 then
    redis.call('ZADD', P .. 'expiry', num(head.expires), id)
  end
end
if before ~= '' then
  redis.call('HDEL', names_key, '=' .. before)
end
local busy = state[2] and state[2] ~= ''
emit(busy and state[2] or state[1], busy and state[2] or head.thread, 'batonpass.checkpoint.named', 'checkpoint', id,
  'name', name)
return { '+' }
