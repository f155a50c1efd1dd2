-- Deletes jobs that ended long ago, each with its own thread, unless that is still of use. Also takes jobs off the list
-- that the server has evicted. Looks no further than to the first one that was made after the time in question.
-- KEYS prefix
-- ARGV age in ms, number of the job to start from, limit
-- Returns {'+', how many were deleted, number to go on from or -1}
--@ uses clock record parts thread places free own forget
local start, limit, now = tonumber(ARGV[2]), tonumber(ARGV[3]), now_ms()
local cutoff = now - tonumber(ARGV[1])
local ids = redis.call('ZRANGE', P .. 'jobs', start, start + limit - 1)
local ended, kept, budget, left = 0, 0, limit, MOST_SPANS

-- Deletes a job, and its own thread, as far as the budget goes. Returns whether that was everything.
local function drop(id, thread, name, own)
  local freed, done = 0, budget > 0 and left > 0
  if done and own then
    freed, done, left = clear(thread, name, budget, now, left)
  elseif done then
    drop_job(id, thread)
    forget_if_empty(thread, name)
  end
  budget = budget - freed - 1
  return done
end

relieve()
for _, id in ipairs(ids) do
  local job = redis.call('HMGET', P .. 'j:' .. id, 'state', 'updated', 'thread', 'thread_digest', 'created')
  local own = job[3] == id and redis.call('EXISTS', P .. 'y:' .. job[4]) == 0
  if not job[1] then
    redis.call('ZREM', P .. 'jobs', id)
    redis.call('ZREM', P .. 'dead', id)
  elseif tonumber(job[5]) > cutoff then  -- it and all that follow can't have ended before
    return { '+', ended, -1 }
  elseif not ENDED[job[1]] or tonumber(job[2]) > cutoff or (own and of_use(job[4], cutoff, now)) then
    kept = kept + 1
  elseif drop(id, job[4], job[3], own) then
    ended = ended + 1
  else
    return { '+', ended, start + kept }
  end
end
return { '+', ended, #ids == limit and start + kept or -1 }
