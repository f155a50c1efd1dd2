-- A thread's checkpoints from a step index on, oldest first, with all that they hold but what lies in logs.
-- KEYS prefix
-- ARGV thread digest, thread name, step index to start from, limit
-- Returns {'+', {id, thread name, name, commit line, record} ...}
--@ uses clock record thread
local now, limit, page = now_ms(), tonumber(ARGV[4]), { '+' }
for _, found in ipairs(oldest(ARGV[1], ARGV[3], '+inf', 500)) do
  local id = found[1]
  local record, head = read_head(id)
  if record and #page <= limit and not hidden(id, head, now) then
    page[#page + 1] = { id, ARGV[2], name_of(id, ARGV[1]), head.commit, redis.call('GET', P .. 'c:' .. id) }
  end
end
return page
