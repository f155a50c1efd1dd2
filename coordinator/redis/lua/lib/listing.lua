-- Lists of jobs, newest first.

-- How many jobs of a list are above a place, or in it: a time and a job that was there then, and may be gone.
local function count_above(key, at, id)
  local above, to = redis.call('ZCOUNT', key, '(' .. at, '+inf'), redis.call('ZCOUNT', key, at, '+inf')
  while above < to do  -- halve what is of this time, which is in the order of the ids
    local mid = math.floor((above + to) / 2)
    if redis.call('ZREVRANGE', key, mid, mid)[1] >= id then
      above = mid + 1
    else
      to = mid
    end
  end
  return above
end
