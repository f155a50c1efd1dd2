-- Reading events.

-- Whether one event's position is before another's.
local function before(one, other)
  local ms, number = string.match(one, '^(%d+)-(%d+)$')
  local other_ms, other_number = string.match(other, '^(%d+)-(%d+)$')
  if ms ~= other_ms then
    return tonumber(ms) < tonumber(other_ms)
  end
  return tonumber(number) < tonumber(other_number)
end

-- The position of the newest event that was trimmed, '0-0' if none was, and how many were.
local function trimmed()
  local position, count = string.match(redis.call('GET', P .. 'trimmed') or '0-0 0', '^(%S+) (%d+)$')
  return position, tonumber(count)
end

local function field_of(fields, name)
  for i = 1, #fields, 2 do
    if fields[i] == name then
      return fields[i + 1]
    end
  end
  return ''
end

-- Whether an event's subject is a thread, or a job on it. `known` caches the thread of each job ('' if it has none).
local function on_thread(subject, thread, known)
  if subject ~= thread and not known[subject] then
    local id = #subject == 24 and string.match(subject, '^[0-9a-z]+$')
    known[subject] = id and redis.call('HGET', P .. 'j:' .. id, 'thread') or ''
  end
  return subject == thread or known[subject] == thread
end

-- A function that tells whether an event is wanted. ARGV from `at` on: agent or '', thread or '', then types. A type
-- that ends with * stands for all that begin like it.
local function wanted(at)
  local agent, thread, known = ARGV[at], ARGV[at + 1], {}
  local function type_fits(kind)
    for i = at + 2, #ARGV do
      local exact = string.sub(ARGV[i], -1) ~= '*'
      if kind == ARGV[i] or (not exact and string.sub(kind, 1, #ARGV[i] - 1) == string.sub(ARGV[i], 1, -2)) then
        return true
      end
    end
    return at + 2 > #ARGV
  end
  return function(fields)
    return type_fits(fields[2]) and (agent == '' or field_of(fields, 'agent') == agent)
      and (thread == '' or on_thread(fields[4], thread, known))
  end
end
