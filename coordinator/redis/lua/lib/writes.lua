-- Noting what was written at places.

-- Whether the logs hold the spans of the writes in ARGV from `at` on, or will, once a checkpoint's appends are there.
local function held_by_logs(at, checkpoint)
  local ends = {}
  for i = checkpoint.first or 1, checkpoint.last or 0, 3 do
    ends[ARGV[i]] = tonumber(ARGV[i + 1]) + #ARGV[i + 2]
  end
  for i = at + 2, #ARGV, 3 do
    for log, _, last in each_span(string.match(ARGV[i], '^[^ -]+') or '') do
      ends[log] = ends[log] or tonumber(redis.call('HGET', P .. 'u:' .. log, 'end') or 0) or 0
      if tonumber(last) > ends[log] then
        return false
      end
    end
  end
  return true
end

-- Works out what the writes in ARGV from `at` on (name, '1' if again or '-' if gone, value of each) change at a spot:
-- the `fields` to set in the hash `key`, those that are `gone`, the spans that the new ones use, and the spans that the
-- replaced and removed ones used.
local function new_writes(at, thread, spot)
  local fields, gone, used, freed, values, key = {}, {}, {}, {}, {}, writes_key(thread, spot)
  for first = at, #ARGV, 1500 do
    local names = {}
    for i = first, math.min(first + 1499, #ARGV), 3 do
      names[#names + 1] = ARGV[i]
    end
    local before = redis.call('HMGET', key, unpack(names))
    for n, name in ipairs(names) do
      local i = first + 3 * (n - 1)
      local there, value = values[name] or not gone[name] and before[n], ARGV[i + 2]
      if ARGV[i + 1] == '-' then
        values[name], gone[name] = nil, true
        freed[#freed + 1] = there and string.match(there, '^[^ -]+') or nil
      elseif not there or ARGV[i + 1] == '1' then
        values[name], gone[name] = value, nil
        fields[#fields + 1], fields[#fields + 2] = name, value
        used[#used + 1] = string.match(value, '^[^ -]+')
        freed[#freed + 1] = there and string.match(there, '^[^ -]+') or nil
      end
    end
  end
  return { key = key, fields = fields, gone = gone, used = used, freed = freed }
end

-- Carries that out at the spot, which may be new. Spans without users are added to `dropped`, for `free_logs`.
local function note(writes, thread, spot, is_new, dropped)
  if is_new then
    redis.call('ZADD', P .. 'g:' .. thread, 0, spot)
  end
  local key, fields = writes.key, writes.fields
  for first = 1, #fields, 1000 do
    redis.call('HSET', key, unpack(fields, first, math.min(first + 999, #fields)))
  end
  for name in pairs(writes.gone) do
    redis.call('HDEL', key, name)
  end
  for _, spans in ipairs(writes.used) do
    for log, first, last in each_span(spans) do
      count_use(log, first, last, 1)
    end
  end
  for _, spans in ipairs(writes.freed) do
    disuse(spans, dropped)
  end
end
