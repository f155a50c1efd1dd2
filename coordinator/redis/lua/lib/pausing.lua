-- Agents that are paused (`paused`: agent -> since when, and why), and those that were (`resumed`: agent -> since when
-- not). An agent is in one of them at most. `paused` is missing if none is, so that a claim need not look further.

-- The time of an agent's last change, 0 if there is none, and whether it is paused since.
local function last_change(agent)
  local told = redis.call('HGET', P .. 'paused', agent)
  local at = told and string.match(told, '^%d+') or redis.call('HGET', P .. 'resumed', agent)
  return tonumber(at or 0), told and true or false
end

-- The time that a change gets: that of partition 0 (`at`), or, if this is the one to decide, the present, or a later
-- one if the clock was set back. Nil if there is nothing to change. Second, the last change's time.
local function change_at(agent, pause, at)
  local last, is_paused = last_change(agent)
  if at > 0 then
    return at > last and at or nil, last
  end
  return is_paused ~= pause and math.max(now_ms(), last + 1) or nil, last
end
