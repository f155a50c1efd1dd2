-- Questions whose time to answer is over.

-- Reads what `overdue` needs. `assignee` is the person to ask next, if one is left.
local function read_overdue(id)
  local job = redis.call('HMGET', P .. 'j:' .. id, 'queue', 'agent', 'hop', 'asked', 'otherwise', 'escalation',
    'escalated')
  local fields = { queue = job[1], agent = job[2], hop = job[3], asked = job[4], otherwise = job[5] or '' }
  local step, next_step = 0, read_num(job[7]) + 1
  for wait, assignee in string.gmatch(job[6] or '', '(%d+) ([^\n]*)') do
    step = step + 1
    if step == next_step then
      fields.assignee, fields.wait, fields.escalated = assignee, tonumber(wait), num(step)
    end
  end
  return fields
end

-- Asks the next person, or lets the job go on. Returns the job's queue if it goes on.
local function overdue(id, job, now)
  if job.assignee then
    local due = num(now + job.wait)
    redis.call('HSET', P .. 'j:' .. id, 'assignee', job.assignee, 'escalated', job.escalated, 'due', due,
      'updated', num(now))
    redis.call('ZADD', TIMERS, due, id)
    emit_job(id, 'batonpass.job.escalated', job.agent, job.hop, 'assignee', job.assignee, 'due', due)
    return nil
  end
  local taken = job.otherwise ~= ''
  go_ahead(id, job.queue, 'answer', job.otherwise, 'answered', job.asked .. (taken and ' default' or ' timeout'),
    'updated', num(now))
  redis.call('ZREM', TIMERS, id)
  redis.call('ZREM', ASKING, id)
  if taken then
    emit_job(id, 'batonpass.job.answered', job.agent, job.hop, 'by', 'default')
  else
    emit_job(id, 'batonpass.job.unanswered', job.agent, job.hop)
  end
  return job.queue
end
