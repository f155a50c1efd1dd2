-- A namespace that `batonpass repartition` moves, has moved or is filling is used by nobody: moving/marks.py. (Also who
-- follows its events, or waits for a result, has to hear of it.)
if redis.call('GET', P .. 'moved') then
  return refuse('elsewhere', redis.call('GET', P .. 'moved'))
end
