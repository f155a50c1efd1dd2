-- Adding checkpoints.

-- The arguments of a new checkpoint, from ARGV[at]: id, header, state, native, step, ttl.
local function read_checkpoint(at)
  return { id = ARGV[at], header = ARGV[at + 1], state = ARGV[at + 2], native = ARGV[at + 3], step = ARGV[at + 4],
    ttl = tonumber(ARGV[at + 5]) }
end

-- The commit line of a checkpoint that was saved before, or nil.
local function saved_before(id)
  local record = redis.call('GET', P .. 'c:' .. id)
  return record and string.match(record, '^%S+ (%S+ %S+ %S+ %S+ %S+)')
end

-- Adds a checkpoint to a thread, as number `count`; answers the commit line, sealed together with the header. The
-- caller notes the new tip and count. Nil if it was added before: nothing is written then.
-- (Texts, not one hash: a hash with a large value costs five times as much.)
local function append(checkpoint, thread, count, parent, now)
  if redis.call('ZADD', P .. 'o:' .. thread, 'NX', num(count), checkpoint.id) == 0 then
    return nil
  end
  local expires = checkpoint.ttl > 0 and now + checkpoint.ttl or 0
  local commit = string.format('%.0f %s %.0f %.0f', count, parent ~= '' and parent or '-', now, expires)
  commit = commit .. ' ' .. redis.sha1hex(checkpoint.header .. ' ' .. commit)
  local record = thread .. ' ' .. commit .. ' ' .. checkpoint.header
  if checkpoint.native == '' then
    redis.call('MSET', P .. 'c:' .. checkpoint.id, record, P .. 's:' .. checkpoint.id, checkpoint.state)
  else
    redis.call('MSET', P .. 'c:' .. checkpoint.id, record, P .. 's:' .. checkpoint.id, checkpoint.state,
      P .. 'b:' .. checkpoint.id, checkpoint.native)
  end
  if expires > 0 then
    redis.call('ZADD', P .. 'expiry', num(expires), checkpoint.id)
  end
  return commit
end

-- How many checkpoints a job's thread has had. From its first save on the job counts them itself, which spares each
-- save two calls: nobody else may write to the thread, and `finish` tells it the tip and the count.
local function counted(fields)
  return tonumber(fields.count ~= '' and fields.count or redis.call('HGET', P .. 't:' .. fields.thread, 'count'))
end

-- Saves the last checkpoint of a delivery that is ending, if there is one (id not empty), and tells so. The job's new
-- tip and count are in `fields` then.
local function append_last(id, fields, at, now)
  if ARGV[at] == '' then
    return
  end
  local checkpoint, count = read_checkpoint(at), counted(fields)
  append(checkpoint, fields.thread, count, fields.tip, now)
  fields.tip, fields.count = checkpoint.id, num(count + 1)
  emit_job(id, 'batonpass.checkpoint.saved', fields.agent, fields.hop,
    'checkpoint', checkpoint.id, 'step', checkpoint.step)
end
