-- The store's clock, in ms since 1970. The only place where time enters. As a text, because most callers store it, and
-- turning a number into text costs as much as a call to the server.
local function now_text()
  local time = redis.call('TIME')
  return time[1] .. string.sub('00000' .. time[2], -6, -4)
end

-- The same as a number, to calculate with.
local function now_ms()
  return tonumber(now_text())
end

-- In how many ms the next lease, timer, limit or gate is due; -1 if there is none.
local function due_in(now)
  local next_due = -1
  for _, key in ipairs({ LEASES, TIMERS, LIMITS, GATES }) do
    local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
    local at = tonumber(first[2] or NEVER)
    if at < NEVER and (next_due < 0 or at - now < next_due) then
      next_due = math.max(at - now, 0)
    end
  end
  return redis.call('EXISTS', P .. 'opening', P .. 'closing') > 0 and 0 or next_due
end
