-- Who may write for a job.

-- The fence: the job's agent, hop, thread, tip, count and the other fields named, if the lease is held; what will say
-- that it was ended by this operation is `closed`. Else nil and the reply to give: {'+'} when the same lease ended its
-- delivery by the same operation before (a retry after a lost reply), a refusal otherwise.
local function held(id, token, lease, operation, ...)
  local key = P .. 'j:' .. id
  local job = redis.call('HMGET', key, 'token', 'lease', 'agent', 'hop', 'thread_digest', 'tip', 'count', ...)
  if job[1] == token and job[2] == lease then
    local fields = { agent = job[3], hop = job[4], thread = job[5], tip = job[6], count = job[7] or '',
      closed = operation and operation .. ' ' .. lease }
    for i = 8, #job do
      fields[select(i - 7, ...)] = job[i]
    end
    return fields
  end
  if not job[1] then
    return nil, refuse('no_job', id)
  end
  local now = redis.call('HMGET', key, 'closed', 'state', 'worker')
  if operation and now[1] == operation .. ' ' .. lease then
    return nil, { '+' }
  end
  return nil, refuse('fenced', id, token, now[2], now[3], job[1])
end

-- Adds keys and values, ARGV from `at` on, to the journal of the hop: in portions, since `unpack` takes some thousands
-- at most.
local function append_journal(id, at)
  for first = at, #ARGV, 1000 do
    redis.call('HSET', P .. 'n:' .. id, unpack(ARGV, first, math.min(first + 999, #ARGV)))
  end
end
