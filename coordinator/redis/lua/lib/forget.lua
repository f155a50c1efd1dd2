-- Forgetting jobs and threads.

-- Deletes what is kept of an ended job on a thread, and its idempotency key unless another job uses that by now. Of a
-- job that is lost, nobody is told again.
local function drop_job(id, thread)
  local job = redis.call('HMGET', P .. 'j:' .. id, 'idem', 'agent', 'hop')
  if (job[1] or '') ~= '' and redis.call('HGET', P .. 'i:' .. job[1], 'job') == id then
    redis.call('DEL', P .. 'i:' .. job[1])
  end
  redis.call('DEL', P .. 'j:' .. id, P .. 'n:' .. id, P .. 's:' .. id, P .. 'f:' .. id)
  redis.call('ZREM', P .. 'jobs', id)
  redis.call('ZREM', P .. 'dead', id)
  redis.call('ZREM', P .. 'y:' .. thread, id)
  if job[1] then
    emit_job(id, 'batonpass.job.deleted', job[2], job[3])
  end
end

local function drop_thread(thread, name)
  redis.call('DEL', P .. 't:' .. thread, P .. 'm:' .. thread)
  redis.call('ZREM', P .. 'threads', name)
end

-- Whether a thread has neither checkpoints nor jobs.
local function is_empty(thread, name)
  return redis.call('EXISTS', P .. 'o:' .. thread, P .. 'g:' .. thread, P .. 'y:' .. thread) == 0
    and not own_job(thread, name)
end

-- Removes all traces of a thread that has no checkpoints and no jobs left.
local function forget_if_empty(thread, name)
  if is_empty(thread, name) then
    drop_thread(thread, name)
  end
end

-- Frees checkpoints of a thread, given as pairs of id and head, and emits how many. The thread goes with its last one.
local function free_old(old, thread, name, now)
  local job = redis.call('HGET', P .. 't:' .. thread, 'job')
  relieve()
  free(old, thread, now)
  if #old > 0 then
    local subject = job and job ~= '' and job
    emit(subject or name, subject or thread, 'batonpass.thread.pruned', 'freed', #old)
  end
  forget_if_empty(thread, name)
end

-- Whether a thread has a named checkpoint, or one saved since the cutoff.
local function of_use(thread, cutoff, now)
  if redis.call('EXISTS', P .. 'm:' .. thread) == 1 then
    return true
  end
  local _, commit = newest_left(thread, now)
  return (tonumber(string.match(commit or '', '^%S+ %S+ (%d+) ')) or 0) > cutoff
end

-- Frees what was written at places that have no checkpoint. Returns whether that was everything.
local function clear_places(thread, limit)
  local dropped = {}
  for _, member in ipairs(redis.call('ZRANGE', P .. 'g:' .. thread, 0, limit - 1)) do
    vacate(thread, member, dropped)
  end
  free_logs(dropped)
  return redis.call('EXISTS', P .. 'g:' .. thread) == 0
end

-- Frees the oldest checkpoints of a thread, as far as they have no more than `left` spans. With the last one go its
-- jobs and the thread itself. Returns how many checkpoints were freed, whether nothing is left, and how many spans of
-- `left` are.
local function clear(thread, name, limit, now, left)
  local old = {}
  for _, found in ipairs(oldest(thread, '-inf', '+inf', limit)) do
    if left > 0 then
      local head = head_to_free(found[1], thread)
      old[#old + 1], left = { found[1], head }, left - span_count(head)
    end
  end
  free(old, thread, now)
  if redis.call('EXISTS', P .. 'o:' .. thread) == 1 or not clear_places(thread, limit) then
    return #old, false, left
  end
  local own = own_job(thread, name)
  if own then
    drop_job(own, thread)
  end
  local jobs = redis.call('ZRANGE', P .. 'y:' .. thread, 0, 498)
  for _, id in ipairs(jobs) do
    drop_job(id, thread)
  end
  if redis.call('EXISTS', P .. 'y:' .. thread) == 1 then
    return #old, false, left
  end
  if redis.call('EXISTS', P .. 't:' .. thread) == 1 then
    drop_thread(thread, name)
    emit(name, thread, 'batonpass.thread.deleted')
  end
  return #old, true, left
end

-- Frees what is at the first places of a thread, as far as its checkpoints don't have too many spans. With the last one
-- goes the thread, unless it has a job, or a checkpoint without a place. Returns how many checkpoints were freed, and
-- whether no place is left.
local function clear_placed(thread, name, limit, now)
  local old, left, dropped = {}, MOST_SPANS, {}
  for _, member in ipairs(redis.call('ZRANGE', P .. 'g:' .. thread, 0, limit - 1)) do
    local _, id = split_member(member)
    if left > 0 and id == '' then
      vacate(thread, member, dropped)
    elseif left > 0 then
      local head = head_to_free(id, thread)
      old[#old + 1], left = { id, head }, left - span_count(head)
    end
  end
  free_logs(dropped)
  free(old, thread, now)
  local done = redis.call('EXISTS', P .. 'g:' .. thread) == 0
  if done and redis.call('EXISTS', P .. 't:' .. thread) == 1 and is_empty(thread, name) then
    drop_thread(thread, name)
    emit(name, thread, 'batonpass.thread.deleted')
  elseif #old > 0 then
    emit(name, thread, 'batonpass.thread.pruned', 'freed', #old)
  end
  return #old, done
end
