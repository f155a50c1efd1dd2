-- A job whose worker was lost. Its counterpart in Python is `take_back` in operations/jobs.py.

-- Ends a job whose workers keep dying. Returns as `finish`.
local function park_poisoned(id, job, crashes, how, now)
  local died = crashes .. ' workers died or went silent while they ran this hop'
  local text = died .. in_doubt(id) .. '; the last: ' .. how
  local filled = finish(id, job, 'failed', 'poison', num(now), 'error', text, 'crashes', crashes)
  emit_job(id, 'batonpass.job.failed', job.agent, job.hop, 'reason', 'poison', 'error', text)
  return filled
end

-- Makes the job deliverable, at once or, if so many workers have died of it, later. In the end it is parked.
-- `job` is from `read_ending`, with 'worker', 'token' and 'crashes'; `limits` has deaths from which on it waits, deaths
-- that park it, ms of the first wait, ms of the longest; `kind` is the event's, more of its fields follow. Returns the
-- queues of what else became ready, and what became of the job: 'ready', 'waits' or 'parked'.
local function take_back(id, job, limits, how, now, kind, ...)
  local crashes = read_num(job.crashes) + 1
  local suspect, poison, first, longest = unpack(limits)
  if crashes >= poison then
    return park_poisoned(id, job, num(crashes), how, now), 'parked'
  end
  close(id, job.closed, num(now), 'crashes', num(crashes))
  local filled, outcome = {}, 'ready'
  if crashes < suspect then
    go_ahead(id, job.queue)
    emit_job(id, kind, job.agent, job.hop, 'worker', job.worker, 'token', job.token, ...)
  else
    local due = num(now + math.min(first * 2 ^ (crashes - suspect), longest))
    redis.call('HSET', P .. 'j:' .. id, 'state', 'submitted', 'reason', 'retry_at', 'due', due, 'error', how)
    filled[1], outcome = set_timer(id, due, job.queue, now), 'waits'
    emit_job(id, kind, job.agent, job.hop, 'worker', job.worker, 'token', job.token, 'due', due, ...)
  end
  filled[#filled + 1] = leave_lane(id, job.slot, now)
  return filled, outcome
end
