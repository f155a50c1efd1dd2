-- Leases ready deliveries, queue by queue, first in first out. The entry leaves its stream in the same step: the
-- lease is the only record of ownership.
-- KEYS prefix
-- ARGV worker, number of queues, (queue, lease ms) for each, lease id for each delivery wanted
-- Returns {'+', {job's fields packed, {id, commit line, record, what each span holds ...} or false, journal} ...}
--@ uses clock parts whole
local worker, queues = ARGV[1], tonumber(ARGV[2])
local first_lease = 3 + 2 * queues
local wanted = #ARGV - first_lease + 1
local found, stale = {}, {}
for q = 1, queues do
  local queue, from, looked = ARGV[1 + 2 * q], '-', 0
  while #found < wanted and looked < 500 do
    local entries = redis.call('XRANGE', P .. 'q:' .. queue, from, '+', 'COUNT', wanted - #found)
    for _, entry in ipairs(entries) do
      local id = entry[2][2]
      local job = redis.call('HMGET', P .. 'j:' .. id, 'delivery', 'token', 'agent', 'hop', 'tip', 'attempt')
      if job[1] == entry[1] then
        found[#found + 1] = { id = id, queue = queue, entry = entry[1], token = tonumber(job[2]), agent = job[3],
          hop = job[4], tip = job[5], attempt = job[6], lease_ms = tonumber(ARGV[2 + 2 * q]) }
      else
        stale[#stale + 1] = { queue, entry[1] }
      end
      from = '(' .. entry[1]
    end
    looked = looked + #entries
    if #entries == 0 then
      break
    end
  end
end

local now = now_ms()
for _, entry in ipairs(stale) do
  redis.call('XDEL', P .. 'q:' .. entry[1], entry[2])
end
local deliveries = { '+' }
for i, job in ipairs(found) do
  local job_key, lease = P .. 'j:' .. job.id, ARGV[first_lease + i - 1]
  -- A token from the clock is greater than any that the store knew before it lost its last writes.
  local token = num(math.max(job.token + 1, now))
  redis.call('XDEL', P .. 'q:' .. job.queue, job.entry)
  redis.call('HSET', job_key, 'state', 'working', 'reason', '', 'delivery', '', 'lease', lease, 'worker', worker,
    'token', token, 'lease_until', num(now + job.lease_ms), 'updated', num(now))
  redis.call('ZADD', LEASES, num(now + job.lease_ms), job.id)
  emit_job(job.id, 'batonpass.job.started', job.agent, job.hop,
    'worker', worker, 'token', token, 'attempt', job.attempt)
  local checkpoint = job.tip ~= '' and read_whole(job.tip) or false
  -- The job in one piece: clients take longer to read an array than the script to pack it. Only who had a lease has
  -- written to the journal.
  local journal = job.token > 0 and redis.call('HGETALL', P .. 'n:' .. job.id) or {}
  deliveries[#deliveries + 1] = { cmsgpack.pack(redis.call('HGETALL', job_key)), checkpoint, journal }
end
if #found < wanted then
  -- Nothing is left in these queues: wake-ups still lying there would only cause looks for nothing.
  for q = 1, queues do
    redis.call('DEL', P .. 'w:' .. ARGV[1 + 2 * q])
  end
end
return deliveries
