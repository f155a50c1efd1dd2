-- Frees checkpoints of a thread, and what was written at their places. Those that are gone are passed over.
-- KEYS prefix
-- ARGV thread digest, thread name, then id of each checkpoint
-- Returns {'+', how many were freed, -1}
--@ uses clock record parts thread places free own forget
local thread, now, old, seen = ARGV[1], now_ms(), {}, {}
local needed = needed_on(thread)
for i = 3, #ARGV do
  local id = ARGV[i]
  local record, head = read_head(id)
  if record and head.thread == thread and not needed[id] and not seen[id] then
    old[#old + 1], seen[id] = { id, head }, true
  end
end

free_old(old, thread, ARGV[2], now)
return { '+', #old, -1 }
