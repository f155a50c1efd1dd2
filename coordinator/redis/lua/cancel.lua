-- Ends a job at once, whoever holds it: its worker is refused at the next write.
-- KEYS prefix
-- ARGV job
-- Returns {'+', 1, or 0 if it was ended before, queue of each that is ready now}, {'!no_job'}
--@ uses clock job
local id = ARGV[1]
local job = whom(id)
if not job[1] then
  return refuse('no_job', id)
end
if job[1] ~= 'submitted' and job[1] ~= 'working' and job[1] ~= 'input_required' then
  return { '+', 0 }
end

relieve()
return { '+', 1, unpack(end_canceled(id, job)) }
