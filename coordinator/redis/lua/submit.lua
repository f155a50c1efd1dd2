-- Makes a job and its first delivery. The same id, or the same key, answers with the first job.
-- KEYS prefix
-- ARGV job, thread digest, idempotency digest or '', payload digest, delay ms, origin checkpoint or '', queue, thread
--      name, key, key ttl ms, agent, contract, envelope, what the event says more (packed) or '', terms (packed) or ''
-- Returns {'+', job's fields packed; of a new job those that its client does not know}, {'!key', key, job},
--      {'!busy', thread, job}, {'!no_checkpoint', id}, {'!full', agent, most}
--@ uses clock job
local id, thread, idem, payload, delay = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local job_key = P .. 'j:' .. id
if redis.call('EXISTS', job_key) == 1 then
  return { '+', cmsgpack.pack(redis.call('HGETALL', job_key)) }
end
if idem ~= '' then
  local first = redis.call('HMGET', P .. 'i:' .. idem, 'job', 'payload')
  if first[1] then
    if first[2] ~= payload then
      return refuse('key', ARGV[9], first[1])
    end
    return { '+', cmsgpack.pack(redis.call('HGETALL', P .. 'j:' .. first[1])) }
  end
end
local state = redis.call('HMGET', P .. 't:' .. thread, 'job', 'tip', 'count')
if state[1] and state[1] ~= '' then
  return refuse('busy', ARGV[8], state[1])
end
local tip, count = state[2] or '', state[3] or '0'
if ARGV[6] ~= '' then
  tip, count = ARGV[6], ''
  if redis.call('EXISTS', P .. 'c:' .. tip) == 0 then
    return refuse('no_checkpoint', tip)
  end
end

local terms = ARGV[15] ~= '' and cmsgpack.unpack(ARGV[15]) or {}
local waiting = 0
for _, queue in ipairs(terms.counted or {}) do
  waiting = waiting + redis.call('XLEN', P .. 'q:' .. queue)
end
if terms.most and waiting >= terms.most then
  return refuse('full', ARGV[11], num(terms.most))
end

local now = now_ms()
local fields = { 'id', id, 'thread', ARGV[8], 'thread_digest', thread, 'agent', ARGV[11], 'contract', ARGV[12],
  'queue', ARGV[7], 'envelope', ARGV[13], 'tip', tip, 'count', count, 'key', ARGV[9], 'idem', idem, 'key_ttl', ARGV[10],
  'hop', '0', 'attempt', '1', 'token', '0', 'crashes', '0', 'lease', '', 'worker', '', 'closed', '',
  'created', num(now), 'updated', num(now) }
local deadline = terms.within and now + terms.within or terms.deadline
local bounds = { 'priority', num(terms.priority or 0), 'expires', num(terms.expires and now + terms.expires or 0),
  'deadline', num(deadline or 0) }
if ARGV[15] ~= '' then
  for _, part in ipairs(bounds) do
    fields[#fields + 1] = part
  end
end
local reason, due, entry = 'ready', '0', ''
local at = delay > 0 and now + delay or terms.at or 0
if at > now then
  reason, due = 'scheduled', num(at)
  redis.call('HSET', job_key, 'state', 'submitted', 'reason', reason, 'due', due, 'delivery', entry, unpack(fields))
  redis.call('ZADD', TIMERS, due, id)
else
  entry = enqueue(id, ARGV[7], unpack(fields))
end
redis.call('ZADD', P .. 'jobs', num(now), id)
note_limit(id, bounds[4], bounds[6])
if not state[3] then
  redis.call('ZADD', P .. 'threads', 0, ARGV[8])
end
if ARGV[8] ~= id then
  redis.call('ZADD', P .. 'y:' .. thread, num(now), id)
end
redis.call('HSET', P .. 't:' .. thread, 'name', ARGV[8], 'job', id, 'count', state[3] or '0')
if idem ~= '' then
  redis.call('HSET', P .. 'i:' .. idem, 'job', id, 'payload', payload)
end
emit_job(id, 'batonpass.job.submitted', ARGV[11], '0', 'due', at > now and due or '', told(ARGV[14]))
-- A worker is waiting for the end of this script: it reads nothing back.
return { '+', cmsgpack.pack({ 'state', 'submitted', 'reason', reason, 'due', due, 'delivery', entry, 'tip', tip,
  'created', num(now), 'updated', num(now), unpack(bounds) }) }
