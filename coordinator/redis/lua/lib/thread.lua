-- What a thread's checkpoints are read and freed by.

-- When a checkpoint's record says that it expires, 0 for never. A damaged one is shown: its reader notices.
local function expires_at(record)
  return tonumber(string.match(record, '^%S+ %S+ %S+ %S+ (%S+)') or '') or 0
end

-- The digest of the thread that a checkpoint is on, or nil for an unknown checkpoint.
local function thread_of(id)
  local record = redis.call('GET', P .. 'c:' .. id)
  return record and string.match(record, '^(%S*)')
end

-- The newest checkpoints of a thread that have not expired: pairs of id and record, from a step index downwards.
local function newest(thread, below, limit, now)
  local found = {}
  local offset = 0
  while #found < limit and offset < 500 do
    local ids = redis.call('ZREVRANGEBYSCORE', P .. 'o:' .. thread, below, '-inf', 'LIMIT', offset, limit)
    if #ids == 0 then
      break
    end
    offset = offset + #ids
    for _, id in ipairs(ids) do
      local record = redis.call('GET', P .. 'c:' .. id)
      local expires = record and expires_at(record) or 0
      if #found < limit and record and (expires == 0 or expires > now) then
        found[#found + 1] = { id, record }
      end
    end
  end
  return found
end

-- Frees a checkpoint. The thread's tip falls back to the newest that is left.
local function drop(id, thread, now)
  redis.call('ZREM', P .. 'o:' .. thread, id)
  redis.call('ZREM', P .. 'expiry', id)
  redis.call('DEL', P .. 'c:' .. id, P .. 's:' .. id, P .. 'b:' .. id)
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
