-- Who may write for a job.

-- How far back the events were searched for why a job is not there: a position; '0-0' if these are all that there ever
-- were, '' if one of them says that the job was deleted. (Who looks at a refusal wants to know whether it was lost.)
local function searched(id)
  local events = redis.call('XREVRANGE', EVENTS, '+', '-', 'COUNT', 500)
  for _, event in ipairs(events) do
    if event[2][2] == 'batonpass.job.deleted' and event[2][4] == id then
      return ''
    end
  end
  local all = #events < 500 and redis.call('EXISTS', P .. 'trimmed') == 0
  return not all and events[1] and events[#events][1] or '0-0'
end

-- The fence: returns the job's agent, hop, thread, tip and count, the other fields named, and `closed` (what the job
-- will store as the end of this delivery), if the lease is held. Otherwise nil and the reply to give: {'+'} if this
-- lease has already ended its delivery by the same operation (a retry after a lost reply), else a refusal.
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
    return nil, refuse('no_job', id, searched(id))
  end
  local now = redis.call('HMGET', key, 'closed', 'state', 'worker')
  if operation and now[1] == operation .. ' ' .. lease then
    return nil, { '+' }
  end
  return nil, refuse('fenced', id, token, now[2], now[3], job[1])
end

-- Adds the keys and values from ARGV[at] on to the hop's journal, in portions: `unpack` takes a few thousand at most.
-- Keys without a value are deleted.
local function append_journal(id, at)
  for first = at, #ARGV, 1000 do
    redis.call('HSET', P .. 'n:' .. id, unpack(ARGV, first, math.min(first + 999, #ARGV)))
  end
  for each = at, #ARGV, 2 do
    if ARGV[each + 1] == '' then
      redis.call('HDEL', P .. 'n:' .. id, ARGV[each])
    end
  end
end
