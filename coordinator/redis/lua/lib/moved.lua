-- Nobody may use a namespace that `batonpass repartition` is moving, has moved or is filling (see moving/marks.py). Not
-- even readers: followers of events and those who wait for a result have to hear of it.
if redis.call('GET', P .. 'moved') then
  return refuse('elsewhere', redis.call('GET', P .. 'moved'))
end
