-- Deletes one checkpoint; its neighbours stay.
-- KEYS prefix
-- ARGV checkpoint
-- Returns {'+'}, {'!no_checkpoint', id}, {'!needed', id, job}
--@ uses clock record parts thread places free
local id = ARGV[1]
local record, head = read_head(id)
if not record then
  return refuse('no_checkpoint', id)
end
local job = needed_on(head.thread)[id]
if job then
  return refuse('needed', id, job)
end

local dropped = {}
drop(id, head, now_ms(), dropped)
free_logs(dropped)
return { '+' }
