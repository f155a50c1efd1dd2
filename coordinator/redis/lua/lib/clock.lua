-- The store's clock, in ms since 1970. The only place where time enters.
local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
