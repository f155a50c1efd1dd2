-- Adds to a partition that a repartition fills. The same again changes nothing: the calls say how long a list was.
-- KEYS prefix
-- ARGV mark that the filler has put there, then command, key without prefix and what the command takes (packed) of each
-- Returns {'+'}, {'!outdone'}
if redis.call('GET', P .. 'moved') ~= ARGV[1] then
  return refuse('outdone')
end

for i = 2, #ARGV do
  local call = cmsgpack.unpack(ARGV[i])
  local command, key = call[1], P .. call[2]
  if command == 'RPUSH' then
    if redis.call('LLEN', key) == call[3] then
      redis.call('RPUSH', key, unpack(call, 4))
    end
  elseif command == 'XADD' then
    redis.pcall('XADD', key, unpack(call, 3))  -- fails if that entry is there
  else
    redis.call(command, key, unpack(call, 3))
  end
end
return { '+' }
