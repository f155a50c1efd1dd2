-- Renews leases that are still held, also expired ones that nobody has taken over.
-- KEYS prefix
-- ARGV (job, token, lease, ms) for each
-- Returns {'+', '' or 'lost' or 'canceled' for each}
--@ uses clock
local answers = { '+' }
for at = 1, #ARGV, 4 do
  local job = redis.call('HMGET', P .. 'j:' .. ARGV[at], 'token', 'lease', 'state')
  local is_held = job[1] == ARGV[at + 1] and job[2] == ARGV[at + 2]
  answers[#answers + 1] = is_held and '' or job[3] == 'canceled' and 'canceled' or 'lost'
end

relieve()
local now = now_ms()
for at = 1, #ARGV, 4 do
  if answers[(at - 1) / 4 + 2] == '' then
    local until_ms = num(now + tonumber(ARGV[at + 3]))
    redis.call('HSET', P .. 'j:' .. ARGV[at], 'lease_until', until_ms)
    redis.call('ZADD', LEASES, until_ms, ARGV[at])
  end
end
return in_one(answers)
