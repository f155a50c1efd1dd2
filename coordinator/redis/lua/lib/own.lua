-- The jobs of a thread that are not in its list.

-- The job that a thread is named after, if that job ran on it.
local function own_job(thread, name)
  local known = redis.call('ZSCORE', P .. 'jobs', name)
  return known and redis.call('HGET', P .. 'j:' .. name, 'thread_digest') == thread and name or nil
end
