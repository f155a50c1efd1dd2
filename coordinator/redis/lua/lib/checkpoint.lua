-- Adding checkpoints.

-- Makes a checkpoint findable at its place. Declared here, filled by lib/put.lua in the scripts that put places.
local settle

-- Reads the arguments of a new checkpoint, from ARGV[at]: id, record, step, ttl, spans; if it has spans, then also its
-- base, the number of appends, and log, offset and bytes of each. The spans may be followed by a blank and the text of
-- its place. Also returns the index of the next argument.
local function read_checkpoint(at)
  local spans = ARGV[at + 4]
  local checkpoint = { id = ARGV[at], record = ARGV[at + 1], step = ARGV[at + 2], ttl = ARGV[at + 3], spans = spans }
  if spans == '' then
    return checkpoint, at + 5
  end
  local blank = string.find(spans, ' ', 1, true)
  if blank then
    checkpoint.spans, checkpoint.place = string.sub(spans, 1, blank - 1), string.sub(spans, blank + 1)
  end
  if checkpoint.spans == '' then
    return checkpoint, at + 5
  end
  checkpoint.base, checkpoint.first = ARGV[at + 5], at + 7
  checkpoint.last = at + 6 + 3 * tonumber(ARGV[at + 6])
  return checkpoint, checkpoint.last + 1
end

-- The commit line of a checkpoint that was saved before, or nil.
local function saved_before(id)
  local thread = redis.call('GETRANGE', P .. 'c:' .. id, 0, 31)
  return thread ~= '' and redis.call('HGET', P .. 't:' .. thread, id) or nil
end

-- Adds a checkpoint to a thread, as number `count`, at a time (`now_text`). Returns its commit line, sealed together
-- with the header. The caller stores the new tip and count. Returns nil, and writes nothing, if it was added before.
-- (The record stays one text: a hash with a large value would cost five times as much, and every key and every
-- concatenation costs more than the bytes themselves.)
local function append(checkpoint, thread, count, parent, now, ...)
  local id, record, spans = checkpoint.id, checkpoint.record, checkpoint.spans
  if redis.call('ZADD', P .. 'o:' .. thread, 'NX', count, id) == 0 then
    return nil
  end
  local expires = checkpoint.ttl ~= '0' and num(now + checkpoint.ttl) or '0'
  local commit = count .. ' ' .. (parent ~= '' and parent or '-') .. ' ' .. now .. ' ' .. expires .. ' ' ..
    (spans ~= '' and spans or '-')
  local header = string.sub(record, 51, 50 + tonumber(string.sub(record, 33, 40)))
  commit = commit .. ' ' .. redis.sha1hex(header .. ' ' .. commit .. ' ' .. id)
  if checkpoint.place then
    commit = commit .. ' ' .. checkpoint.place
  end
  redis.call('SET', P .. 'c:' .. id, record)
  redis.call('HSET', P .. 't:' .. thread, id, commit, ...)
  if spans ~= '' then
    write_parts(checkpoint)
  end
  if expires ~= '0' then
    redis.call('ZADD', P .. 'expiry', expires, id)
  end
  if checkpoint.place then
    settle(checkpoint, thread)
  end
  return commit
end

-- How many checkpoints a job's thread has had. A running job counts them in its own record, which saves two calls with
-- each save: nobody else may write to its thread, and `finish` copies tip and count to the thread. (A job that goes on
-- from another thread's checkpoint counts from its first save on, because until then its tip is not in its thread.)
local function counted(fields)
  return fields.count ~= '' and fields.count or redis.call('HGET', P .. 't:' .. fields.thread, 'count')
end

-- Reads the last checkpoint of a delivery that ends, from ARGV[at] (id '' for none), and sets its number in `fields`.
-- Returns nil and a refusal if it can't be saved.
local function read_last(at, fields)
  if ARGV[at] == '' then
    return nil
  end
  local checkpoint = read_checkpoint(at)
  fields.count = counted(fields)
  if string.sub(checkpoint.record, 1, 32) ~= fields.thread then
    return nil, refuse('thread', checkpoint.id)
  elseif not grounded(checkpoint) then
    return nil, refuse('ungrounded', checkpoint.base)
  end
  return checkpoint
end

-- Saves that checkpoint, if there is one, and emits its event, without a wake-up: the event of the end follows and
-- wakes the listeners. Sets the job's new tip and count in `fields`.
local function append_last(checkpoint, id, fields, now)
  if not checkpoint then
    return
  end
  append(checkpoint, fields.thread, fields.count, fields.tip, now)
  fields.tip, fields.count = checkpoint.id, num(fields.count + 1)
  redis.call('XADD', EVENTS, '*', 'type', 'batonpass.checkpoint.saved', 'subject', id, 'agent', fields.agent,
    'hop', fields.hop, 'checkpoint', checkpoint.id, 'step', checkpoint.step)
end
