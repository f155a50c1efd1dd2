-- Prepended to every script. KEYS[1] is the partition's prefix, with the hash tag: every key that a script touches is
-- that prefix, a fixed suffix and a minted id or a digest, never a text from a user.
--   j:<job>                     hash    the job
--   t:<thread digest>           hash    name, tip, count, unended job, commit lines
--   n:<job>                     hash    journal of the hop
--   o:<thread digest>           zset    checkpoints by step index
--   c:<id>                      string  checkpoint, see lib/record.lua
--   l:<log>:<n>                 string  segment n of a log, see lib/parts.lua
--   u:<log>                     hash    its length; spans in use -> by how many
--   q:<queue>                   stream  ready deliveries
--   w:<queue>                   list    wake-ups
--   p:<queue>                   zset    live workers
--   a:<queue>                   zset    jobs of the queue that go ahead of the others -> in which order
--   leases                      zset    job -> expiry
--   timers                      zset    job -> due
--   expiry                      zset    checkpoint -> when it expires
--   dead                        zset    failed job -> when it failed
--   asking                      zset    job -> when it asked
--   limits                      zset    unended job -> when it fails
--   gates                       zset    lane -> when its line moves; NEVER: only when a job leaves the lane
--   la:<lane>                   zset    jobs with a place in a lane
--   lw:<lane>                   zset    jobs in its line
--   ls:<lane>                   zset    its starts
--   jobs                        zset    job -> created
--   events                      stream  what happened
--   agents                      hash    declarations
--   paused                      hash    paused agent -> since when, and why, see lib/pausing.lua
--   resumed                     hash    agent that was paused -> until when
--   z:<thread digest>           list    jobs that wait until the thread's job has ended
--   m:<thread digest>           hash    @checkpoint -> name, =name -> checkpoint
--   y:<thread digest>           zset    jobs on the thread, without the one that the thread is named after
--   g:<thread digest>           zset    places, see lib/places.lua
--   k:<thread and spot digest>  hash    what was written at a place
--   r:<run digest>              zset    checkpoints of a run
--   threads                     zset    names of threads
--   e:<digest>                  hash    an item, see lib/items.lua
--   items                       zset    paths and digests of items
--   lapses                      zset    item -> when it expires
--   s:<job>                     stream  what the job streams; it expires by itself
--   f:<job>                     hash    fan-out and number -> how the child ended
--   v:<fan-out>                 zset    its children that have not ended
--   b:<job>                     list    children that are staged
--   opening                     zset    job that has staged children, which `reap` is to make -> time
--   closing                     zset    fan-out whose unended children `reap` is to cancel -> time
--   i:<digest>                  hash    first use of an idempotency key: job, payload; when, if the job lives elsewhere
--   groups                      hash    group digest -> its name
--   h:<group digest>            hash    how far the group is, see lib/groups.lua
--   trimmed                     string  newest event that was trimmed, and how many were
--   schema                      string  the form of the namespace, see server.py
--   epoch                       string  a random text: another one says that the store was made anew
--   rewound                     string  the event that said last that the store went back in time
--   partitions                  string  how many the namespace has; in partition 0
--   dealt                       string  set by `batonpass repartition`: cursors up to here may be of another partition
--   moved                       string  set while `batonpass repartition` moves or fills the partition, says from where
--   d:<queue>                   zset    on a cluster, in partition 0: partition -> deliveries that workers may not know
--                                       of yet. With a lease id instead of a queue, it ends one worker's wait
--   x:<id>                      list    ends one worker's wait; only watch.py uses it
local P = KEYS[1]
local LEASES = P .. 'leases'
local TIMERS = P .. 'timers'
local LIMITS = P .. 'limits'
local ASKING = P .. 'asking'
local GATES = P .. 'gates'
local EVENTS = P .. 'events'
-- The time of a gate that does not open by time: its line moves when a job leaves the lane, or when `reap` is told to.
local NEVER = 9e15
local ENDED = { completed = true, failed = true, canceled = true, rejected = true }
-- Every worker looks for due timers at least this often, in ms (the longest pause of its upkeep).
local SOON = 1200

-- A number as text. (Lua prints large ones as 1.7e+12.)
local function num(value)
  return string.format('%.0f', value)
end

-- A number that a job's hash has as text. What is none there, because somebody wrote it with another client, counts as
-- 0: an error here would stop all that the script does for other jobs, each time. The job's reader notices.
local function read_num(text)
  local value = tonumber(text or 0) or 0
  return math.abs(value) < 1e16 and value or 0
end

-- What `redis.pcall` returned. Nil if the key is of another type than it should be, for the same reason.
local function fitting(reply)
  if type(reply) == 'table' and reply.err then
    if string.find(reply.err, 'WRONGTYPE', 1, true) then
      return nil
    end
    error(reply.err, 0)
  end
  return reply
end

-- A reply packed into one piece; wire.py unpacks it. Before 7.0 the server sends each array in a write(2) of its own,
-- and each of those wakes the reader. (Packing costs time, so a reply that is a single text of letters and digits is
-- returned as it is.)
local function in_one(reply)
  return #reply == 1 and reply[1] or cmsgpack.pack(reply)
end

local function refuse(code, ...)
  return { '!' .. code, ... }
end

-- Appends an event about a subject, and wakes those who listen. The rest are field names and values. Wake-ups may fail
-- (a user without rights to the channel): that costs latency, and must not break the commit.
local function emit(subject, channel, kind, ...)
  local id = redis.call('XADD', EVENTS, '*', 'type', kind, 'subject', subject, ...)
  redis.pcall('PUBLISH', P .. 'live:' .. channel, kind .. ' ' .. id)
end

local function emit_job(id, kind, agent, hop, ...)
  emit(id, id, kind, 'agent', agent, 'hop', hop, ...)
end

-- More fields of an event, as names and values that the client packed.
local function told(packed)
  if packed ~= '' then
    return unpack(cmsgpack.unpack(packed))
  end
end

-- Begins a script that must work even when the server is out of memory (ending a job, keeping a lease). Such a server
-- refuses a script at its first write, unless that write is of a command that can't grow the data, like this one.
local function relieve()
  redis.call('ZREM', LEASES, '')
end
