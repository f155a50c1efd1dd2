-- Ends a job at once, whoever holds it: its worker is refused at the next write.
-- KEYS prefix
-- ARGV job
-- Returns {'+', 1, or 0 if it was ended before, queue of each that is ready now}, {'!no_job'}
--@ uses clock record thread job
local id = ARGV[1]
local job = read_ending(id, 'state', 'worker')
if not job then
  return refuse('no_job', id)
end
if job.state ~= 'submitted' and job.state ~= 'working' and job.state ~= 'input_required' then
  return { '+', 0 }
end

relieve()
return { '+', 1, unpack(end_canceled(id, job)) }
