-- Frees checkpoints of a thread that are neither among its newest nor young. Those at places stay: what their framework
-- needs is more than the newest. Lost ones go in any case, as far as they are met.
-- KEYS prefix
-- ARGV thread digest, thread name, how many of the newest stay, age in ms, '1' if named ones stay, step index to start
--      from, limit, then id of each other one that stays
-- Returns {'+', how many were freed, step index to go on from or -1}
--@ uses clock record parts thread places free own forget
local thread, limit = ARGV[1], tonumber(ARGV[7])
local now = now_ms()
local keep, bound, lost = tonumber(ARGV[3]), '+inf', {}
if keep > 0 then
  local edge, met = nth_newest(thread, keep, now)
  bound, lost = edge and '(' .. edge or '-inf', met
end
local needed, kept = needed_on(thread), {}
for i = 8, #ARGV do
  kept[ARGV[i]] = true
end
local looked, old, left = oldest(thread, ARGV[6], bound, limit), {}, MOST_SPANS
local onward = looked[1] and looked[#looked][2] + 1 or tonumber(ARGV[6])
local more = #looked == limit
for _, found in ipairs(looked) do
  local id = found[1]
  local head, is_lost = head_to_free(id, thread)
  local stays = kept[id] or (head.place or '') ~= '' or head.created > now - tonumber(ARGV[4])
    or (ARGV[5] == '1' and name_of(id, thread) ~= '')
  if (is_lost or not stays) and not needed[id] then
    if left <= 0 then
      more, onward = true, found[2]
      break
    end
    old[#old + 1], left = { id, head }, left - span_count(head)
  end
end
for _, id in ipairs(lost) do
  if needed[id] then
    -- It goes when the job has ended.
  elseif #old < limit and left > 0 then
    local head = head_to_free(id, thread)
    old[#old + 1], left = { id, head }, left - span_count(head)
  else
    more = true
  end
end

free_old(old, thread, ARGV[2], now)
return { '+', #old, more and onward or -1 }
