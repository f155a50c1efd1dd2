-- Leases ready deliveries, queue by queue, first in first out. The entry leaves its stream in the same step: the
-- lease is the only record of ownership.
-- KEYS prefix
-- ARGV worker, number of queues, (queue, lease ms) for each, number of fields, name of each field of a job that is to be
--      told, lease id for each delivery wanted
-- Returns {'+', {packed {id, queue, lease, token, lease's end, time, agent, hop, tip, attempt, fields ...}, {id, commit
--      line, record, what each span holds ...} or false, journal} ...}
--@ uses clock parts whole

-- Whether a job is no child, or one that its parent waits for.
local function waited_for(brood, parent)
  if not brood or brood == '' then
    return true
  end
  local fan = redis.call('HMGET', P .. 'j:' .. parent, 'fan', 'verdict')
  return fan[1] == brood and fan[2] == ''
end

local worker, queues = ARGV[1], tonumber(ARGV[2])
local first_field = 4 + 2 * queues
local first_lease = first_field + tonumber(ARGV[first_field - 1])
local wanted = #ARGV - first_lease + 1
local found, stale, now = {}, {}, now_ms()
-- The heads of all queues at once. (No other script uses XREAD: who may not claim is refused here.)
local streams, heads = {}, {}
for q = 1, queues do
  streams[q], streams[queues + q] = P .. 'q:' .. ARGV[1 + 2 * q], '0'
end
for _, head in ipairs(redis.call('XREAD', 'COUNT', wanted, 'STREAMS', unpack(streams)) or {}) do
  heads[head[1]] = head[2]
end

local function look(q, entry)
  local id = entry[2][2]
  local job = redis.call('HMGET', P .. 'j:' .. id, 'delivery', 'expires', 'deadline', 'brood', 'parent', 'token', 'agent',
    'hop', 'tip', 'attempt', unpack(ARGV, first_field, first_lease - 1))
  local expires, deadline = tonumber(job[2] or 0), tonumber(job[3] or 0)
  if job[1] ~= entry[1] then
    stale[#stale + 1] = { ARGV[1 + 2 * q], entry[1] }
  elseif (expires == 0 or expires > now) and (deadline == 0 or deadline > now) and waited_for(job[4], job[5]) then
    found[#found + 1] = { id = id, queue = ARGV[1 + 2 * q], entry = entry[1], token = tonumber(job[6]), agent = job[7],
      hop = job[8], tip = job[9], attempt = job[10], lease_ms = tonumber(ARGV[2 + 2 * q]), expires = expires,
      deadline = deadline, fields = job }
  end
end

for q = 1, queues do
  local entries, looked = heads[streams[q]] or {}, 0
  while #found < wanted and #entries > 0 and looked < 500 do
    for _, entry in ipairs(entries) do
      if #found < wanted then
        look(q, entry)
      end
    end
    looked = looked + #entries
    entries = redis.call('XRANGE', P .. 'q:' .. ARGV[1 + 2 * q], '(' .. entries[#entries][1], '+',
      'COUNT', wanted - #found)
  end
end

for _, entry in ipairs(stale) do
  redis.call('XDEL', P .. 'q:' .. entry[1], entry[2])
end
local deliveries = { '+' }
for i, job in ipairs(found) do
  local job_key, lease = P .. 'j:' .. job.id, ARGV[first_lease + i - 1]
  -- A token from the clock is greater than any that the store knew before it lost its last writes.
  local token, until_ms = num(math.max(job.token + 1, now)), num(now + job.lease_ms)
  redis.call('XDEL', P .. 'q:' .. job.queue, job.entry)
  redis.call('HSET', job_key, 'state', 'working', 'reason', '', 'delivery', '', 'lease', lease, 'worker', worker,
    'token', token, 'lease_until', until_ms, 'updated', num(now))
  redis.call('ZADD', LEASES, until_ms, job.id)
  if job.expires > 0 then
    redis.call('HSET', job_key, 'expires', '0')
    if job.deadline > 0 then
      redis.call('ZADD', LIMITS, num(job.deadline), job.id)
    else
      redis.call('ZREM', LIMITS, job.id)
    end
  end
  emit_job(job.id, 'batonpass.job.started', job.agent, job.hop,
    'worker', worker, 'token', token, 'attempt', job.attempt)
  local checkpoint = job.tip ~= '' and read_whole(job.tip) or false
  -- The job in one piece: clients take longer to read an array than the script to pack it. Only who had a lease has
  -- written to the journal.
  local journal = {}
  if job.token > 0 then
    journal = redis.call('HGETALL', P .. 'n:' .. job.id)
    redis.call('UNLINK', P .. 'b:' .. job.id)
  end
  local told = cmsgpack.pack({ job.id, job.queue, lease, token, until_ms, num(now), unpack(job.fields, 7) })
  deliveries[#deliveries + 1] = { told, checkpoint, journal }
end
if #found < wanted then
  -- Nothing is left in these queues: wake-ups still lying there would only cause looks for nothing.
  for q = 1, queues do
    redis.call('DEL', P .. 'w:' .. ARGV[1 + 2 * q])
  end
end
return deliveries
