-- Nothing is written to a namespace that `batonpass repartition` moves, has moved or is filling: moving/marks.py.
if redis.call('GET', P .. 'moved') then
  return refuse('elsewhere', redis.call('GET', P .. 'moved'))
end
