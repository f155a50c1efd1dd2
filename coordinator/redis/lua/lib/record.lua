-- A checkpoint's record, as the client sends it: the thread's digest (32), the lengths of header (8) and state (10),
-- then header, state and native part. What the store adds, the commit line (step index, parent, created, expires,
-- spans, seal), is a field of the thread's hash, because joining the two in a script would copy the whole state.

-- What a commit line says. A damaged one gives fewer fields.
local function read_commit(commit)
  local parent, created, expires, spans, place = string.match(commit, '^%S+ (%S+) (%d+) (%d+) (%S+) %S+ ?(.*)$')
  return { commit = commit, parent = parent or '-', created = tonumber(created) or 0, expires = tonumber(expires) or 0,
    spans = spans or '-', place = place }
end

-- A record's head (all but state and native part), and what it and its commit line say. Nil for an unknown checkpoint.
-- A damaged record gives fewer fields: its reader notices.
local function read_head(id)
  local key = P .. 'c:' .. id
  local record = fitting(redis.pcall('GETRANGE', key, 0, 1023)) or ''
  if record == '' then
    return nil
  end
  local thread, length = string.sub(record, 1, 32), tonumber(string.sub(record, 33, 40)) or 0
  if 50 + length > 1024 then
    record = redis.call('GETRANGE', key, 0, 49 + length)
  end
  local head = read_commit(redis.call('HGET', P .. 't:' .. thread, id) or '')
  head.thread, head.header = thread, string.sub(record, 51, 50 + length)
  return string.sub(record, 1, 50 + length), head
end

-- The head of a checkpoint that is to be freed from its thread, and whether its record is lost: evicted, or deleted by
-- somebody with another client. What such a one used and where it was is in its commit line.
local function head_to_free(id, thread)
  local _, head = read_head(id)
  return head or read_commit(redis.call('HGET', P .. 't:' .. thread, id) or ''), head == nil
end

-- A checkpoint's name, '' if it has none.
local function name_of(id, thread)
  return redis.call('HGET', P .. 'm:' .. thread, '@' .. id) or ''
end

-- Whether a commit line is as it was sealed. Asked of those that say that a checkpoint has expired, because damage that
-- says so must be told as damage.
local function intact(id, header, commit)
  local sealed, seal = string.match(commit, '^(%S+ %S+ %S+ %S+ %S+) (%x+)')
  local text = sealed and header .. ' ' .. sealed
  return text and (redis.sha1hex(text .. ' ' .. id) == seal or redis.sha1hex(text) == seal)
end

-- Whether a checkpoint has expired, freed or not. A named one never does.
local function hidden(id, head, now)
  local over = head.expires > 0 and head.expires <= now and name_of(id, head.thread) == ''
  return over and intact(id, head.header, head.commit)
end

-- A script passes over this many expired checkpoints at most. Then it answers {'>', where it stopped}, and the client
-- asks again from there.
local PASSED = 500

-- Which of these checkpoints of a thread are expired. Records are read only of those whose commit lines say so.
local function all_hidden(thread, ids, now)
  local over, named = {}, redis.call('EXISTS', P .. 'm:' .. thread) == 1
  for i, commit in ipairs(#ids > 0 and redis.call('HMGET', P .. 't:' .. thread, unpack(ids)) or {}) do
    local expires = tonumber(commit and string.match(commit, '^%S+ %S+ %d+ (%d+) ') or 0)
    over[i] = expires > 0 and expires <= now and not (named and name_of(ids[i], thread) ~= '')
    if over[i] then
      local _, head = read_head(ids[i])
      over[i] = head == nil or intact(ids[i], head.header, commit)
    end
  end
  return over
end

-- Which of these checkpoints are lost.
local function all_lost(ids)
  local keys, lost = {}, {}
  for i, id in ipairs(ids) do
    keys[i] = P .. 'c:' .. id
  end
  local missing = #keys > 0 and redis.call('EXISTS', unpack(keys)) < #keys
  for i, key in ipairs(missing and keys or {}) do
    lost[i] = redis.call('EXISTS', key) == 0
  end
  return lost
end
