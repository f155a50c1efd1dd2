-- Puts the mark of a repartition on a partition, or takes it off, if there is the one that is known. The same again
-- changes nothing.
-- KEYS prefix
-- ARGV mark that is known or '' for none, new one or ''
-- Returns {'+', the mark that is there now or ''}
local there = redis.call('GET', P .. 'moved') or ''
if there ~= ARGV[1] then
  return { '+', there }
end

if ARGV[2] ~= '' then
  redis.call('SET', P .. 'moved', ARGV[2])
else
  redis.call('DEL', P .. 'moved')
end
return { '+', ARGV[2] }
