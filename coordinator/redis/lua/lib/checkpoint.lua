-- Adding checkpoints.

-- Lets a checkpoint that has a place be found there: lib/put.lua makes it, where checkpoints may have one.
local settle

-- The arguments of a new checkpoint, from ARGV[at]: id, record, step, ttl, spans; if it has spans also its base, the
-- number of appends, and log, place and bytes of each. Behind the spans and a blank the text of its place may follow.
-- Answers where the arguments go on, too.
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

-- Adds a checkpoint to a thread, as number `count`, at a time (`now_text`); answers the commit line, sealed together
-- with the header. The caller notes the new tip and count. Nil if it was added before: nothing is written then. (The
-- record is one text as it came: a hash with a large value costs five times as much, and each key, and each text put
-- together, more than its bytes.)
local function append(checkpoint, thread, count, parent, now, ...)
  local id, record, spans = checkpoint.id, checkpoint.record, checkpoint.spans
  if redis.call('ZADD', P .. 'o:' .. thread, 'NX', count, id) == 0 then
    return nil
  end
  local expires = checkpoint.ttl ~= '0' and num(now + checkpoint.ttl) or '0'
  local commit = count .. ' ' .. (parent ~= '' and parent or '-') .. ' ' .. now .. ' ' .. expires .. ' ' ..
    (spans ~= '' and spans or '-')
  local header = string.sub(record, 51, 50 + tonumber(string.sub(record, 33, 40)))
  commit = commit .. ' ' .. redis.sha1hex(header .. ' ' .. commit)
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

-- How many checkpoints a job's thread has had. The job counts them itself, which spares each save two calls: nobody
-- else may write to the thread, and `finish` tells it the tip and the count. (One that goes on from a checkpoint of
-- another thread begins to count with its first save: until then its tip is not the thread's.)
local function counted(fields)
  return fields.count ~= '' and fields.count or redis.call('HGET', P .. 't:' .. fields.thread, 'count')
end

-- The last checkpoint of a delivery that is ending, if there is one: from ARGV[at], '' for none. Or nil and a refusal.
-- Its number is in `fields` then.
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

-- Saves the last checkpoint, if there is one, and tells so; the event of the ending, which comes next, wakes who
-- listens. The job's new tip and count are in `fields` then.
local function append_last(checkpoint, id, fields, now)
  if not checkpoint then
    return
  end
  append(checkpoint, fields.thread, fields.count, fields.tip, now)
  fields.tip, fields.count = checkpoint.id, num(fields.count + 1)
  redis.call('XADD', EVENTS, '*', 'type', 'batonpass.checkpoint.saved', 'subject', id, 'agent', fields.agent,
    'hop', fields.hop, 'checkpoint', checkpoint.id, 'step', checkpoint.step)
end
