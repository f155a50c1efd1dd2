-- What a thread's checkpoints are read by.

-- The newest checkpoints of a thread that have not expired: id, commit line and head of the record, from a step index downwards.
local function newest(thread, below, limit, now)
  local found = {}
  local offset = 0
  while #found < limit and offset < 500 do
    local ids = redis.call('ZREVRANGEBYSCORE', P .. 'o:' .. thread, below, '-inf', 'LIMIT', offset, limit)
    if #ids == 0 then
      break
    end
    offset = offset + #ids
    for _, id in ipairs(ids) do
      local record, head = read_head(id)
      if #found < limit and record and (head.expires == 0 or head.expires > now) then
        found[#found + 1] = { id, head.commit, record }
      end
    end
  end
  return found
end
