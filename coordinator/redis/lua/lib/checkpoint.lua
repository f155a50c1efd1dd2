-- Adding and dropping checkpoints.

-- The arguments of a new checkpoint, from ARGV[at]: id, header, state, native, digest, agent, step, ttl.
local function read_checkpoint(at)
  return { id = ARGV[at], header = ARGV[at + 1], state = ARGV[at + 2], native = ARGV[at + 3], digest = ARGV[at + 4],
    agent = ARGV[at + 5], step = ARGV[at + 6], ttl = tonumber(ARGV[at + 7]) }
end

-- Adds a checkpoint at its thread's tip; answers the commit line, sealed together with the header's digest.
local function append(checkpoint, thread, count, parent, now)
  local expires = checkpoint.ttl > 0 and now + checkpoint.ttl or 0
  local commit = string.format('%.0f %s %.0f %.0f', count, parent ~= '' and parent or '-', now, expires)
  commit = commit .. ' ' .. redis.sha1hex(checkpoint.digest .. ' ' .. commit)
  redis.call('HSET', P .. 'c:' .. checkpoint.id, 'h', checkpoint.header, 's', checkpoint.state, 'n', checkpoint.native,
    'm', commit, 't', thread)
  redis.call('HSET', P .. 't:' .. thread, 'tip', checkpoint.id, 'count', num(count + 1))
  redis.call('ZADD', P .. 'o:' .. thread, num(count), checkpoint.id)
  if expires > 0 then
    redis.call('ZADD', P .. 'expiry', num(expires), checkpoint.id)
  end
  return commit
end

-- Saves the last checkpoint of a delivery that is ending, if there is one (id not empty), and tells so.
local function append_last(id, fields, at, now)
  if ARGV[at] == '' then
    return fields.tip
  end
  local checkpoint = read_checkpoint(at)
  local count = tonumber(redis.call('HGET', P .. 't:' .. fields.thread, 'count'))
  append(checkpoint, fields.thread, count, fields.tip, now)
  emit_job(id, 'batonpass.checkpoint.saved', fields.agent, fields.hop,
    'checkpoint', checkpoint.id, 'step', checkpoint.step)
  return checkpoint.id
end

-- When a commit line says that the checkpoint expires, 0 for never.
local function expires_at(commit)
  return tonumber(string.match(commit, '^%S+ %S+ %S+ (%S+)'))
end

-- The newest checkpoints of a thread that have not expired: pairs of id and fields, from a step index downwards.
local function newest(thread, below, limit, now, ...)
  local found = {}
  local offset = 0
  while #found < limit and offset < 500 do
    local ids = redis.call('ZREVRANGEBYSCORE', P .. 'o:' .. thread, below, '-inf', 'LIMIT', offset, limit)
    if #ids == 0 then
      break
    end
    offset = offset + #ids
    for _, id in ipairs(ids) do
      local fields = redis.call('HMGET', P .. 'c:' .. id, 'm', ...)
      local expires = fields[1] and expires_at(fields[1]) or 0
      if #found < limit and fields[1] and (expires == 0 or expires > now) then
        found[#found + 1] = { id, fields }
      end
    end
  end
  return found
end

-- Frees a checkpoint. The thread's tip falls back to the newest that is left.
local function drop(id, thread, now)
  redis.call('ZREM', P .. 'o:' .. thread, id)
  redis.call('ZREM', P .. 'expiry', id)
  redis.call('DEL', P .. 'c:' .. id)
  local state = redis.call('HMGET', P .. 't:' .. thread, 'tip', 'job', 'name')
  if state[1] == id then
    local left = newest(thread, '+inf', 1, now)
    redis.call('HSET', P .. 't:' .. thread, 'tip', left[1] and left[1][1] or '')
  end
  if state[2] and state[2] ~= '' then
    emit(state[2], state[2], 'batonpass.checkpoint.expired', 'checkpoint', id)
  else
    emit(state[3], thread, 'batonpass.checkpoint.expired', 'checkpoint', id)
  end
end
