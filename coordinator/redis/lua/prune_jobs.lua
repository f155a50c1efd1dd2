-- Deletes jobs that ended long ago, each with its own thread. One whose thread is still of use stays. What is listed
-- and was evicted by the server is listed no more.
-- KEYS prefix
-- ARGV age in ms, number of the job to start from, limit
-- Returns {'+', how many were deleted, number to go on from or -1}
--@ uses clock record parts thread places free forget
local start, limit, now = tonumber(ARGV[2]), tonumber(ARGV[3]), now_ms()
local cutoff = now - tonumber(ARGV[1])
local ids = redis.call('ZRANGE', P .. 'jobs', start, start + limit - 1)
local old, gone, kept = {}, {}, 0
for _, id in ipairs(ids) do
  local job = redis.call('HMGET', P .. 'j:' .. id, 'state', 'updated', 'thread', 'thread_digest')
  local own = job[3] == id and redis.call('EXISTS', P .. 'y:' .. job[4]) == 0
  local one = { id = id, thread = job[4], name = job[3], own = own }
  if not job[1] then
    gone[#gone + 1] = id
  elseif ENDED[job[1]] and tonumber(job[2]) <= cutoff and not (one.own and of_use(one.thread, cutoff, now)) then
    one.kept = kept
    old[#old + 1] = one
  else
    kept = kept + 1
  end
end

relieve()
for _, id in ipairs(gone) do
  redis.call('ZREM', P .. 'jobs', id)
  redis.call('ZREM', P .. 'dead', id)
end
local budget = limit
for i, one in ipairs(old) do
  if budget <= 0 then
    return { '+', i - 1, start + one.kept }
  end
  if one.own then
    local freed, done = clear(one.thread, one.name, budget, now)
    budget = budget - freed
    if not done then
      return { '+', i - 1, start + one.kept }
    end
  else
    drop_job(one.id)
    forget_if_empty(one.thread, one.name)
  end
  budget = budget - 1
end
return { '+', #old, #ids == limit and start + kept or -1 }
