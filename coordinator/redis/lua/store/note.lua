-- Looks up the first use of an idempotency key. If there is none, records one, for a job in another partition.
-- KEYS prefix
-- ARGV idempotency digest, job or '' to look only, payload digest, ms to keep the note, ms that it is fresh, job whose
--      note counts no more or ''
-- Returns {'+', job that used the key first or '', its payload digest, 1 if its note is fresh, else 0}
--@ uses clock
local key, now = P .. 'i:' .. ARGV[1], now_ms()
local first = redis.call('HMGET', key, 'job', 'payload', 'noted')
local void = first[3] and first[1] == ARGV[6]
if first[1] and not void and first[1] ~= ARGV[2] then
  local fresh = first[3] and now - tonumber(first[3]) < tonumber(ARGV[5])
  return { '+', first[1], first[2], fresh and 1 or 0 }
end

if ARGV[2] == '' then
  if void then
    redis.call('DEL', key)
  end
  return { '+', '', '', 0 }
end
redis.call('HSET', key, 'job', ARGV[2], 'payload', ARGV[3], 'noted', num(now))
redis.call('PEXPIRE', key, ARGV[4])
return { '+', ARGV[2], ARGV[3], 1 }
