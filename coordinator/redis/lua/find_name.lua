-- The checkpoint that has a name in a thread.
-- KEYS prefix
-- ARGV thread digest, thread name, name
-- Returns {'+', checkpoint}, {'!no_name', thread, name}
local id = redis.call('HGET', P .. 'm:' .. ARGV[1], '=' .. ARGV[3])
if not id then
  return refuse('no_name', ARGV[2], ARGV[3])
end
return { '+', id }
