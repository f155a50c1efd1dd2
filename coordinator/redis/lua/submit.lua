-- Makes a job and its first delivery. The same id, or the same key, returns the first job.
-- KEYS prefix
-- ARGV job, thread digest, idempotency digest or '', payload digest, delay ms, origin checkpoint or '', queue, thread
--      name, key, key ttl ms, agent, contract, envelope, what the event says more (packed) or '', terms (packed) or '',
--      lane or ''
-- Returns {'+', job's fields packed; of a new job those that its client does not know, queue of each that is ready
--      besides, or soon}, of a new job without terms, lane and tip that is ready {'+', when}, {'!key', key, job},
--      {'!busy', thread, job}, {'!no_checkpoint', id}, {'!full', agent, most}
--@ uses clock holder record thread job
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
local terms = ARGV[15] ~= '' and cmsgpack.unpack(ARGV[15]) or {}
local busy, on_busy = holder(state[1]), terms.on_busy or 'reject'
if busy and on_busy == 'reject' then
  return refuse('turned_away', ARGV[8], busy)
end
local origin = ARGV[6]
if origin ~= '' and redis.call('EXISTS', P .. 'c:' .. origin) == 0 then
  return refuse('no_checkpoint', origin)
end
local waiting = 0
for _, queue in ipairs(terms.counted or {}) do
  waiting = waiting + redis.call('XLEN', P .. 'q:' .. queue)
end
if terms.most and ARGV[16] ~= '' then
  waiting = waiting + redis.call('ZCARD', P .. 'lw:' .. ARGV[16])
end
if terms.most and waiting >= terms.most then
  return refuse('full', ARGV[11], num(terms.most))
end
local waits, stopped, filled = busy and on_busy == 'queue', nil, {}
local tip, count, back = state[2] or '', state[3] or '0', nil
if busy and not waits then
  stopped = read_ending(busy, 'worker', 'began')
  if stopped.count ~= '' then
    tip, count = stopped.tip, stopped.count
  end
end
if stopped and on_busy == 'rollback' then
  tip = stopped.began or ''
  if tip ~= '' and redis.call('EXISTS', P .. 'c:' .. tip) == 0 then
    return refuse('no_checkpoint', tip)
  elseif tip == '' or redis.call('HEXISTS', P .. 't:' .. thread, tip) == 1 then
    back = tip  -- the thread's tip goes back, too
  else
    count = ''
  end
end
if origin ~= '' or waits then
  tip, count = origin, ''
elseif not (stopped and on_busy == 'rollback') then
  tip = living_tip(thread, tip, now_ms())
end

local stamp = now_text()
local now = tonumber(stamp)
local fields = { 'id', id, 'thread', ARGV[8], 'thread_digest', thread, 'agent', ARGV[11], 'contract', ARGV[12],
  'queue', ARGV[7], 'envelope', ARGV[13], 'tip', tip, 'count', count, 'key', ARGV[9], 'idem', idem, 'key_ttl', ARGV[10],
  'hop', '0', 'attempt', '1', 'token', '0', 'crashes', '0', 'lease', '', 'worker', '', 'closed', '',
  'created', stamp, 'updated', stamp }
local deadline = terms.within and now + terms.within or terms.deadline
local bounds = { 'priority', terms.priority and num(terms.priority) or '0',
  'expires', terms.expires and num(now + terms.expires) or '0', 'deadline', deadline and num(deadline) or '0',
  'lane', ARGV[16] }
if ARGV[15] ~= '' or ARGV[16] ~= '' then
  for _, part in ipairs(bounds) do
    fields[#fields + 1] = part
  end
end
local began = waits and '' or tip
if began ~= '' then
  fields[#fields + 1], fields[#fields + 2] = 'began', began
end
local reason, due, entry = 'ready', '0', ''
local at = delay > 0 and now + delay or terms.at or 0
if waits or at > now then
  reason, due = waits and 'thread_busy' or 'scheduled', num(at)
  redis.call('HSET', job_key, 'state', 'submitted', 'reason', reason, 'due', due, 'delivery', entry, unpack(fields))
else
  entry = enqueue(id, ARGV[7], unpack(fields))
end
redis.call('ZADD', P .. 'jobs', stamp, id)
note_limit(id, bounds[4], bounds[6])
if not state[3] then
  redis.call('ZADD', P .. 'threads', '0', ARGV[8])
end
if ARGV[8] ~= id then
  redis.call('ZADD', P .. 'y:' .. thread, stamp, id)
end
if idem ~= '' then
  redis.call('HSET', P .. 'i:' .. idem, 'job', id, 'payload', payload)
end
if waits then
  redis.call('RPUSH', P .. 'z:' .. thread, id)
else
  if reason == 'scheduled' then
    filled[1] = set_timer(id, due, ARGV[7], now)
  end
  if stopped then
    filled = end_canceled(busy, stopped, id)  -- replaces `filled`: no job with a time is submitted this way
    state[3] = stopped.count ~= '' and stopped.count or state[3]
  end
  redis.call('HSET', P .. 't:' .. thread, 'name', ARGV[8], 'job', id,
    back and 'tip' or 'count', back or state[3] or '0')
end
emit_job(id, 'batonpass.job.submitted', ARGV[11], '0', 'due', due ~= '0' and due or '', 'behind', waits and busy or '',
  told(ARGV[14]))
-- A worker waits for this script to end: it reads nothing back, and does not pack what is the same in most jobs.
if reason == 'ready' and tip == '' and ARGV[15] == '' and ARGV[16] == '' then
  return stamp
end
return in_one({ '+', cmsgpack.pack({ 'state', 'submitted', 'reason', reason, 'due', due, 'delivery', entry, 'tip', tip,
  'began', began, 'created', stamp, 'updated', stamp, unpack(bounds) }), unpack(filled) })
