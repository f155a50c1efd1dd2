-- What several operations do to a job.

-- Wakes one worker. A list of wake-ups that nobody takes is cut at 128 entries to 64: to cut it each time would cost as
-- much as adding one.
local function wake(queue)
  if redis.call('RPUSH', P .. 'w:' .. queue, '1') > 128 then
    redis.call('LTRIM', P .. 'w:' .. queue, 0, 63)
  end
end

-- Sets a job's timer. If it is due sooner than all workers look for timers, one is woken, because a claim that finds
-- nothing tells the worker when to look. Returns the job's queue then.
local function set_timer(id, due, queue, now)
  redis.call('ZADD', TIMERS, due, id)
  if tonumber(due) - now < SOON then
    wake(queue)
    return queue
  end
end

-- Makes a job deliverable, behind all that are ready in its queue, and wakes a worker. Returns the stream entry.
local function enqueue(id, queue, ...)
  local entry = redis.call('XADD', P .. 'q:' .. queue, '*', 'job', id)
  redis.call('HSET', P .. 'j:' .. id, 'state', 'submitted', 'reason', 'ready', 'due', '0', 'delivery', entry, ...)
  wake(queue)
  return entry
end

-- The rank of an entry in its queue.
local function place_of(entry)
  local ms, number = string.match(entry, '^(%d+)-(%d+)$')
  return tonumber(ms) * 1000 + math.min(tonumber(number), 999)
end

-- Makes a job deliverable that already had its turn, ahead of those that wait for theirs. (It also gets an entry in the
-- stream, the only place where workers of older releases look.)
local function go_ahead(id, queue, ...)
  local entry = enqueue(id, queue, ...)
  redis.call('ZADD', P .. 'a:' .. queue, num(place_of(entry)), id)
end

-- Takes a ready delivery out of its queue.
local function dequeue(id, queue, entry)
  redis.call('XDEL', P .. 'q:' .. queue, entry)
  redis.call('ZREM', P .. 'a:' .. queue, id)
end

-- Stops the clock that says for how long the hop has been failing, while the job waits for something. A value below 0
-- is how long it had been failing; the next claim starts the clock again.
local function paused(failing, now)
  local at = read_num(failing)
  return at > 0 and num(math.min(at - now, 0)) or failing or '0'
end

-- Sets when a job fails if it has not ended: when it expires or at its deadline ('0' or false for none).
local function note_limit(id, expires, deadline)
  local at = tonumber(expires or 0)
  local last = tonumber(deadline or 0)
  if at == 0 or last > 0 and last < at then
    at = last
  end
  if at > 0 then
    redis.call('ZADD', LIMITS, num(at), id)
  end
end

-- The fields of a job that nobody holds any more, followed by the given ones. `closed` says how its holder ended the
-- delivery, `now` is a text.
local function unheld(closed, now, ...)
  return 'closed', closed or '', 'lease', '', 'worker', '', 'lease_until', '0', 'updated', now, ...
end

-- Ends a delivery, so that nobody holds the job. Works on a full server. `now` is a text.
local function close(id, closed, now, ...)
  redis.call('ZREM', LEASES, id)
  redis.call('HSET', P .. 'j:' .. id, unheld(closed, now, ...))
end

-- Removes a lane's gate if nobody waits in its line.
local function close_line(lane)
  if redis.call('EXISTS', P .. 'lw:' .. lane) == 0 then
    redis.call('ZREM', GATES, lane)
  end
end

-- Makes the first job in a lane's line ready (see lib/turns.lua). Returns its queue, or nil if nobody waits.
local function let_out(lane, now)
  local id, job = nil, nil
  repeat  -- skip jobs that the server has evicted
    id = redis.call('ZPOPMIN', P .. 'lw:' .. lane)[1]
    job = id and fitting(redis.pcall('HMGET', P .. 'j:' .. id, 'queue', 'agent', 'hop', 'attempt')) or {}
  until not id or job[1]
  if id then
    close_line(lane)
    redis.call('ZADD', P .. 'la:' .. lane, 0, id)
    go_ahead(id, job[1], 'slot', lane, 'waits', '0', 'updated', num(now))
    emit_job(id, 'batonpass.job.submitted', job[2], job[3], 'attempt', job[4])
    return job[1]
  end
end

-- A delivery is over: if it had a place in a lane, the next one in line gets it. Returns the queue of that one, or nil.
local function leave_lane(id, lane, now)
  if lane and lane ~= '' then
    redis.call('ZREM', P .. 'la:' .. lane, id)
    redis.call('HSET', P .. 'j:' .. id, 'slot', '')
    if tonumber(redis.call('ZSCORE', GATES, lane) or NEVER) == NEVER then
      return let_out(lane, now)
    end
  end
end

-- A job's fan-out is over. Children that were staged are not made, and `reap` will cancel those that have not ended.
local function decide(id, fan)
  redis.call('UNLINK', P .. 'b:' .. id)
  redis.call('ZREM', P .. 'opening', id)
  if redis.call('EXISTS', P .. 'v:' .. fan) == 1 then
    redis.call('ZADD', P .. 'closing', 'NX', num(now_ms()), fan)
  end
end

local function is_set(value)
  return value and value ~= '' and value ~= '0'
end

-- Counts how children ended. If that decides the fan-out, the parent goes on, and its queue is returned. `job` has the
-- parent's fields: children, need and spare from 3 on, queue, agent and hop from 8 on.
local function weigh(parent, fan, job, done, lost)
  redis.call('HSET', P .. 'j:' .. parent, 'done', num(done), 'lost', num(lost))
  local verdict = lost > read_num(job[5]) and 'broken'
    or (done >= read_num(job[4]) or done + lost == read_num(job[3])) and 'met'
  if not verdict then
    return
  end
  decide(parent, fan)
  go_ahead(parent, job[8], 'verdict', verdict, 'updated', num(now_ms()))
  emit_job(parent, 'batonpass.job.joined', job[9], job[10], 'done', num(done), 'lost', num(lost))
  return job[8]
end

-- Tells the parent that a child ended. If that decides the fan-out, the parent goes on, and its queue is returned. A
-- child that completes too late to count is still recorded if the parent may fan out again, so that its work is not
-- repeated. Of other late children, it is recorded what they spent, and that they are there. Returns second whether the
-- parent may ask for a canceled child again: also for one that was redriven alone (then `fan` is empty; a person may
-- have that parent do so), or that is yet to become a child of the last one, because it is staged.
local function tell_parent(id, fan, state, reason)
  local child = redis.call('HMGET', P .. 'j:' .. id, 'parent', 'number', 'error', 'result', 'fan')
  local parent = child[1] or ''
  redis.call('ZREM', P .. 'v:' .. fan, id)
  local job = fitting(redis.pcall('HMGET', P .. 'j:' .. parent, 'fan', 'verdict', 'children', 'need', 'spare', 'done',
    'lost', 'queue', 'agent', 'hop', 'state', 'parent', 'reason')) or {}
  local late, shown = job[2] ~= '', state
  local over = job[11] == 'completed' or job[11] == 'canceled' or job[11] == 'rejected'
  local counted = job[11] and (not over or (job[11] ~= 'completed' and is_set(job[12])))
  local unmet, result = counted and job[2] ~= 'met', child[4] or ''
  local wanted = unmet or (counted and job[11] == 'failed' and job[13] == 'children')
  if fan == '' then
    return nil, counted
  elseif job[1] ~= fan then
    return nil, wanted and redis.call('EXISTS', P .. 'b:' .. parent) == 1
  end
  local below = state ~= 'completed' and child[5] or ''
  if late and (state ~= 'completed' or job[2] == 'met' or over) then
    if not counted or not (unmet or result ~= '' or below ~= '') then
      return
    end
    shown = 'late ' .. state
  end
  redis.call('HSET', P .. 'f:' .. parent, fan .. ' ' .. (child[2] or '0'),
    cmsgpack.pack({ id, shown, reason, child[3] or '', result, below }))
  if late then
    return nil, wanted
  end
  local done, lost = read_num(job[6]), read_num(job[7])
  if state == 'completed' then
    done = done + 1
  else
    lost = lost + 1
  end
  return weigh(parent, fan, job, done, lost), wanted
end

-- A child that had failed, and was redriven when nobody waited for it any more, has completed. If the parent may be
-- redriven, that is recorded. A parent that went on without this child ignores it.
local function make_good(id)
  local child = redis.call('HMGET', P .. 'j:' .. id, 'parent', 'number', 'result')
  local parent = child[1] or ''
  local job = redis.call('HMGET', P .. 'j:' .. parent, 'fan', 'verdict', 'state', 'reason')
  local name = (job[1] or '') .. ' ' .. (child[2] or '0')
  local known = redis.call('HGET', P .. 'f:' .. parent, name)
  local settled = redis.call('HEXISTS', P .. 'n:' .. parent, 'settled/' .. (job[1] or '')) == 1
  if settled or not known or cmsgpack.unpack(known)[1] ~= id then
    return
  end
  local failed_of_it = (job[2] == 'broken' or job[2] == 'met') and job[3] == 'failed' and job[4] == 'children'
  local again = job[2] == 'cut' and job[3] ~= 'completed' and job[3] ~= 'canceled' and job[3] ~= 'rejected'
  if failed_of_it or again then
    redis.call('HSET', P .. 'f:' .. parent, name, cmsgpack.pack({ id, 'completed', '', '', child[3] or '', '' }))
  end
end

-- Starts the job that waits first for a thread: from its origin, or from the thread's tip. Returns its queue if it is
-- ready.
local function give_turn(thread, now)
  local id, job = nil, nil
  repeat  -- skip jobs that the server has evicted
    id = redis.call('LPOP', P .. 'z:' .. thread)
    job = id and fitting(redis.pcall('HMGET', P .. 'j:' .. id, 'queue', 'agent', 'hop', 'due', 'tip')) or {}
  until not id or job[1]
  if not id then
    return nil
  end
  local state = redis.call('HMGET', P .. 't:' .. thread, 'tip', 'count')
  local tip, count = job[5], ''
  if tip == '' then
    tip, count = living_tip(thread, state[1] or '', tonumber(now)), state[2]
  end
  redis.call('HSET', P .. 't:' .. thread, 'job', id)
  redis.call('HSET', P .. 'j:' .. id, 'tip', tip, 'count', count, 'began', tip, 'updated', num(now))
  if read_num(job[4]) - now > 0 then
    redis.call('HSET', P .. 'j:' .. id, 'reason', 'scheduled')
    emit_job(id, 'batonpass.job.submitted', job[2], job[3], 'due', job[4])
    return set_timer(id, job[4], job[1], now)
  end
  enqueue(id, job[1])
  emit_job(id, 'batonpass.job.submitted', job[2], job[3])
  return job[1]
end

-- The fields that `finish` needs, besides those that a fence reads.
local ENDING = { 'slot', 'idem', 'key_ttl', 'brood', 'fan', 'verdict', 'lane', 'waits', 'due', 'expires', 'deadline' }

-- Reads these, and the other fields named, for a job that is not ended by its holder. Nil if there is no such job.
local function read_ending(id, ...)
  local names = { 'agent', 'hop', 'thread_digest', 'tip', 'count', 'queue', 'delivery', 'reason', ... }
  for _, name in ipairs(ENDING) do
    names[#names + 1] = name
  end
  local job, fields = redis.call('HMGET', P .. 'j:' .. id, unpack(names)), {}
  for i, name in ipairs(names) do
    fields[name] = job[i]
  end
  fields.thread, fields.count = fields.thread_digest, fields.count or ''
  return fields.thread and fields or nil
end

-- Ends a job and its delivery (as `close`):
-- - its idempotency key begins to age, and its parent is told;
-- - its thread gets tip and count back, and goes to the job that waits for it next (if `successor` is set, the caller
--   does that);
-- - its journal is dropped, unless a redrive, of the job or its parent, may go on with it. How its own children ended
--   is kept if its parent may still read that.
-- In `fields`, `delivery` and `queue` are set if it was ready, `reason` tells whether it waited for its thread, `spent`
-- is what was spent, if the job has no result. `now` is a text. Returns the queues of what became ready.
local function finish(id, fields, state, reason, now, ...)
  local filled, waited, spent = {}, fields.reason == 'thread_busy', state ~= 'completed' and fields.spent
  if state ~= 'completed' and not is_set(spent) then
    spent = fitting(redis.pcall('HGET', P .. 'n:' .. id, 'spent'))
  end
  close(id, fields.closed, now, 'state', state, 'reason', reason, 'count', '', ...)
  if spent then
    redis.call('HSET', P .. 'j:' .. id, 'result', spent)
  end
  if is_set(fields.fan) and fields.verdict == '' then
    redis.call('HSET', P .. 'j:' .. id, 'verdict', 'cut')
    decide(id, fields.fan)
  end
  local kept, wanted = state == 'failed', false
  if fields.brood then
    filled[1], wanted = tell_parent(id, fields.brood, state, reason)
    kept = kept or (wanted and state == 'canceled')
  end
  if fields.brood == '' and state == 'completed' then  -- a child that was redriven
    make_good(id)
  end
  if is_set(fields.due) then
    redis.call('ZREM', TIMERS, id)
    redis.call('HSET', P .. 'j:' .. id, 'due', '0')
  end
  if is_set(fields.expires) or is_set(fields.deadline) then
    redis.call('ZREM', LIMITS, id)
  end
  if fields.waits == '1' then
    redis.call('ZREM', P .. 'lw:' .. fields.lane, id)
    close_line(fields.lane)
    redis.call('HSET', P .. 'j:' .. id, 'waits', '0')
  end
  if is_set(fields.delivery) then
    dequeue(id, fields.queue, fields.delivery)
    redis.call('HSET', P .. 'j:' .. id, 'delivery', '')
  end
  if waited then
    redis.call('LREM', P .. 'z:' .. fields.thread, 1, id)
  elseif fields.count ~= '' then
    redis.call('HSET', P .. 't:' .. fields.thread, 'job', '', 'tip', fields.tip, 'count', fields.count)
  else
    redis.call('HSET', P .. 't:' .. fields.thread, 'job', '')
  end
  if state == 'failed' then
    redis.call('ZADD', P .. 'dead', now, id)
  end
  if kept then
    redis.call('UNLINK', P .. 'b:' .. id)
  elseif state ~= 'completed' and is_set(fields.brood) then
    redis.call('UNLINK', P .. 'n:' .. id, P .. 'b:' .. id)
  else
    redis.call('UNLINK', P .. 'n:' .. id, P .. 'b:' .. id, P .. 'f:' .. id)
  end
  if is_set(fields.idem) and redis.call('HGET', P .. 'i:' .. fields.idem, 'job') == id then
    redis.call('PEXPIRE', P .. 'i:' .. fields.idem, num(read_num(fields.key_ttl)))
  end
  if not waited and not fields.successor then
    filled[#filled + 1] = give_turn(fields.thread, now)
  end
  filled[#filled + 1] = leave_lane(id, fields.slot, now)
  return filled
end

-- No run has acted on children that failed, or a question that nobody answered, while the job waited in line since. So
-- a redrive tries that again, as if it had failed of it.
local function reopen(id)
  local job = redis.call('HMGET', P .. 'j:' .. id, 'lease', 'closed', 'verdict', 'answered')
  local lease, closed, verdict, answered = job[1], job[2] or '', job[3], job[4] or ''
  if lease and lease ~= '' then
    return
  end
  if verdict == 'broken' and string.find(closed, '^spawn ') then
    redis.call('HSET', P .. 'j:' .. id, 'verdict', 'cut')
  end
  if string.find(answered, ' timeout$') and string.find(closed, '^suspend ') then
    redis.call('HSET', P .. 'j:' .. id, 'answered', '')
  end
end

-- Which effects of a job's hop have started, and have no recorded outcome, after '; '. '' if there are none.
local function in_doubt(id)
  local left = {}
  for _, key in ipairs(fitting(redis.pcall('HKEYS', P .. 'n:' .. id)) or {}) do
    local name = string.match(key, '^doubt/(.*)$')
    if name then
      left[#left + 1] = name
    end
  end
  table.sort(left)
  local named = table.concat(left, "', '")
  return left[1] and "; effects that had started, and may have happened: '" .. named .. "'" or ''
end

-- Ends a job from outside, whoever holds it. `successor` is the job that gets its thread, if any. `fields` are those of
-- `read_ending`, with 'worker'. Returns as `finish`.
local function end_canceled(id, fields, successor)
  redis.call('ZREM', ASKING, id)
  reopen(id)
  fields.successor = successor
  local doubt, about = string.sub(in_doubt(id), 3), {}
  if doubt ~= '' then
    local last = redis.call('HGET', P .. 'j:' .. id, 'error')
    about = { 'error', doubt .. ((last or '') ~= '' and '; its last error: ' .. last or '') }
  end
  local filled = finish(id, fields, 'canceled', '', now_text(), unpack(about))
  emit_job(id, 'batonpass.job.canceled', fields.agent, fields.hop, 'worker', fields.worker, 'by', successor or '',
    'error', doubt)
  return filled
end

-- Ends a job that has expired or is past its deadline, whoever holds it. Returns as `finish`.
local function fail_late(id, now)
  reopen(id)
  local fields = read_ending(id, 'error')
  local expires, deadline = read_num(fields.expires), read_num(fields.deadline)
  local reason, text = 'deadline', 'it did not end before its deadline'
  if expires > 0 and (deadline == 0 or expires <= deadline) then
    reason, text = 'expired', 'no worker started it before it expired'
  end
  text = text .. in_doubt(id)
  if is_set(fields.error) then
    text = text .. '; its last error: ' .. fields.error
  end
  local filled = finish(id, fields, 'failed', reason, num(now), 'error', text)
  redis.call('ZREM', ASKING, id)
  emit_job(id, 'batonpass.job.failed', fields.agent, fields.hop, 'reason', reason, 'error', text)
  return filled
end
