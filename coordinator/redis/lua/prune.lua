-- Frees checkpoints of a thread that are neither among its newest nor young. Those at places stay: what their framework
-- needs is more than the newest.
-- KEYS prefix
-- ARGV thread digest, thread name, how many of the newest stay, age in ms, '1' if named ones stay, step index to start
--      from, limit
-- Returns {'+', how many were freed, step index to go on from or -1}
--@ uses clock record parts thread places free own forget
local thread, limit = ARGV[1], tonumber(ARGV[7])
local now = now_ms()
local keep, bound = tonumber(ARGV[3]), '+inf'
if keep > 0 then
  local edge = nth_newest(thread, keep, now)
  bound = edge and '(' .. edge or '-inf'
end
local needed = needed_on(thread)
local looked, old = oldest(thread, ARGV[6], bound, limit), {}
for _, found in ipairs(looked) do
  local id = found[1]
  local _, head = read_head(id)
  if (head.place or '') == '' and head.created <= now - tonumber(ARGV[4]) and not needed[id]
    and not (ARGV[5] == '1' and name_of(id, thread) ~= '') then
    old[#old + 1] = { id, head }
  end
end

free_old(old, thread, ARGV[2], now)
return { '+', #old, #looked == limit and looked[#looked][2] + 1 or -1 }
