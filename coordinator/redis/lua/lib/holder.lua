-- Who has a thread.

-- The job in a thread's record, or false for none. A job that is lost (evicted, or deleted by somebody with another
-- client) has nothing any more.
local function holder(job)
  return job and job ~= '' and redis.call('EXISTS', P .. 'j:' .. job) == 1 and job
end
