-- Frees checkpoints of a thread, in order, and what was written at their places. Those that are gone are passed over.
-- KEYS prefix
-- ARGV thread digest, thread name, then id of each checkpoint
-- Returns {'+', how many were freed, number of the checkpoint to go on from or -1}
--@ uses clock record parts thread places free own forget
local thread, now, old, seen, left, onward = ARGV[1], now_ms(), {}, {}, MOST_SPANS, -1
local needed = needed_on(thread)
for i = 3, #ARGV do
  local id = ARGV[i]
  local record, head = read_head(id)
  if record and head.thread == thread and not needed[id] and not seen[id] then
    if left <= 0 then
      onward = i - 3
      break
    end
    old[#old + 1], seen[id], left = { id, head }, true, left - span_count(head)
  end
end

free_old(old, thread, ARGV[2], now)
return { '+', #old, onward }
