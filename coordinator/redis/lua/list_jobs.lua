-- A page of jobs, newest first. With a state or an agent, or without children: the fitting ones among the next jobs,
-- and the last job that it looked at.
-- KEYS prefix
-- ARGV limit, job to start below or '', '1' for failed ones only (the last to fail first), state or '', agent or '',
--      time of that job when it was read or a time alone or '0', '0' to leave out the children of fan-outs
-- Returns {'+', job's fields ...}, {'!no_job', job}
--@ uses listing
local key = P .. 'jobs'
if ARGV[3] == '1' then
  key = P .. 'dead'
end
local first = 0
if tonumber(ARGV[6]) > 0 then
  first = count_above(key, ARGV[6], ARGV[2])
elseif ARGV[2] ~= '' then
  local rank = redis.call('ZREVRANK', key, ARGV[2])
  local updated = not rank and redis.call('HGET', P .. 'j:' .. ARGV[2], 'updated')
  if rank then
    first = rank + 1
  elseif updated then  -- it is not failed any more
    first = count_above(key, updated, ARGV[2])
  else
    return refuse('no_job', ARGV[2])
  end
end
local limit, state, agent, alone = tonumber(ARGV[1]), ARGV[4], ARGV[5], ARGV[7] == '0'
local chosen = state ~= '' or agent ~= '' or alone
local look = chosen and 2000 or limit  -- takes the server some ms

local function chooses(job_key)
  if not chosen then
    return true
  end
  local is = fitting(redis.pcall('HMGET', job_key, 'state', 'agent', 'parent')) or {}
  local fits = (state == '' or is[1] == state) and (agent == '' or is[2] == agent)
  return fits and not (alone and is[3] and is[3] ~= ''), is[1]
end

local page, passed = { '+' }, nil
for _ = 1, 100 do  -- skip jobs that the server has evicted
  local ids = redis.call('ZREVRANGE', key, first, first + look - 1)
  for _, id in ipairs(ids) do
    if #page > limit then
      break
    end
    local job_key = P .. 'j:' .. id
    local take, there = chooses(job_key)
    local row = take and fitting(redis.pcall('HGETALL', job_key))
    if row and row[1] then
      page[#page + 1], passed = row, nil
    elseif there then
      passed = id
    end
  end
  if #page > limit or #ids < look or (chosen and (passed or page[2])) then
    break
  end
  first = first + look
end
if passed then
  page[#page + 1] = redis.call('HGETALL', P .. 'j:' .. passed)
end
return page
