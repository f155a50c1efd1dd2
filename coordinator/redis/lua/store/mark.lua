-- Puts the mark of a repartition on a partition, or takes it off, if the expected mark is there. The same again changes
-- nothing.
-- KEYS prefix
-- ARGV mark that is known or '' for none, new one or '', '1' if nobody may have used a partition without one, schema
--      that it has from now on or ''
-- Returns {'+', the mark that is there now or ''}, {'!used'}
local there = redis.call('GET', P .. 'moved') or ''
if there == ARGV[2] or there ~= ARGV[1] then
  return { '+', there }
elseif there == '' and ARGV[3] == '1' and redis.call('EXISTS', P .. 'schema') == 1 then
  return refuse('used')
end

if ARGV[4] ~= '' then
  redis.call('SET', P .. 'schema', ARGV[4])
end
if ARGV[2] ~= '' then
  redis.call('SET', P .. 'moved', ARGV[2])
else
  redis.call('DEL', P .. 'moved')
end
return { '+', ARGV[2] }
