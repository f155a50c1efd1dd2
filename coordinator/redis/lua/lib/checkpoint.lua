-- Adding checkpoints.

-- The arguments of a new checkpoint, from ARGV[at]: id, header, state, native, step, ttl, spans; if it has spans also
-- its base, the number of appends, and log, place and bytes of each. Answers where the arguments go on, too.
local function read_checkpoint(at)
  local checkpoint = { id = ARGV[at], header = ARGV[at + 1], state = ARGV[at + 2], native = ARGV[at + 3],
    step = ARGV[at + 4], ttl = tonumber(ARGV[at + 5]), spans = ARGV[at + 6] }
  if checkpoint.spans == '' then
    return checkpoint, at + 7
  end
  checkpoint.base, checkpoint.first = ARGV[at + 7], at + 9
  checkpoint.last = at + 8 + 3 * tonumber(ARGV[at + 8])
  return checkpoint, checkpoint.last + 1
end

-- The commit line of a checkpoint that was saved before, or nil.
local function saved_before(id)
  local record = redis.call('GET', P .. 'c:' .. id)
  return record and string.match(record, '^%S+ (%S+ %S+ %S+ %S+ %S+ %S+)')
end

-- Adds a checkpoint to a thread, as number `count`; answers the commit line, sealed together with the header. The
-- caller notes the new tip and count. Nil if it was added before: nothing is written then.
-- (One text, not a hash: a hash with a large value costs five times as much, and each key more than its bytes.)
local function append(checkpoint, thread, count, parent, now)
  if redis.call('ZADD', P .. 'o:' .. thread, 'NX', num(count), checkpoint.id) == 0 then
    return nil
  end
  local header, state, spans = checkpoint.header, checkpoint.state, checkpoint.spans
  local expires = checkpoint.ttl > 0 and now + checkpoint.ttl or 0
  local commit = string.format('%.0f %s %.0f %.0f %s', count, parent ~= '' and parent or '-', now, expires,
    spans ~= '' and spans or '-')
  commit = commit .. ' ' .. redis.sha1hex(header .. ' ' .. commit)
  redis.call('SET', P .. 'c:' .. checkpoint.id,
    thread .. ' ' .. commit .. ' ' .. #header .. ' ' .. #state .. ' ' .. header .. state .. checkpoint.native)
  if spans ~= '' then
    write_parts(checkpoint)
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

-- The last checkpoint of a delivery that is ending, if there is one: from ARGV[at], '' for none. False if what it builds
-- on is gone.
local function read_last(at)
  if ARGV[at] == '' then
    return nil
  end
  local checkpoint = read_checkpoint(at)
  return grounded(checkpoint) and checkpoint
end

-- Saves the last checkpoint, if there is one, and tells so. The job's new tip and count are in `fields` then.
local function append_last(checkpoint, id, fields, count, now)
  if not checkpoint then
    return
  end
  append(checkpoint, fields.thread, count, fields.tip, now)
  fields.tip, fields.count = checkpoint.id, num(count + 1)
  emit_job(id, 'batonpass.checkpoint.saved', fields.agent, fields.hop,
    'checkpoint', checkpoint.id, 'step', checkpoint.step)
end
