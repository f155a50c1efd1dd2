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
--   a:<queue>                   zset    of those, the jobs that go ahead of the others -> in which order
--   leases                      zset    job -> expiry
--   timers                      zset    job -> due
--   expiry                      zset    checkpoint -> time
--   dead                        zset    failed job -> when it failed
--   asking                      zset    job -> when it asked
--   limits                      zset    unended job -> when it fails
--   gates                       zset    lane -> when its line moves, NEVER by itself
--   la:<lane>                   zset    jobs with a place in a lane
--   lw:<lane>                   zset    jobs in its line
--   ls:<lane>                   zset    its starts
--   jobs                        zset    job -> created
--   events                      stream  what happened
--   agents                      hash    declarations
--   z:<thread digest>           list    jobs that wait until the thread's job has ended
--   m:<thread digest>           hash    @checkpoint -> name, =name -> checkpoint
--   y:<thread digest>           zset    jobs not named as it
--   g:<thread digest>           zset    places, see lib/places.lua
--   k:<thread and spot digest>  hash    what was written at one
--   r:<run digest>              zset    checkpoints of a run
--   threads                     zset    names of threads
--   e:<digest>                  hash    an item, see lib/items.lua
--   items                       zset    paths and digests of items
--   lapses                      zset    item -> time
--   s:<job>                     stream  what the job streams; it expires by itself
--   f:<job>                     hash    fan-out and number -> how the child ended
--   v:<fan-out>                 zset    its children that have not ended
--   b:<job>                     list    children that are staged
--   opening                     zset    job with those, to be made -> time
--   closing                     zset    fan-out whose children are to be canceled -> time
--   i:<digest>                  hash    first use of an idempotency key: job, payload; when, if the job lives elsewhere
--   groups                      hash    group digest -> its name
--   h:<group digest>            hash    how far it is, see lib/groups.lua
--   trimmed                     string  newest event that was trimmed, and how many were
--   dealt                       string  since `batonpass repartition`: how far cursors may be of another partition
--   moved                       string  there while `batonpass repartition` moves or fills it, and from where
--   d:<queue>                   zset    of a cluster, in 0: partition -> deliveries that workers may not know of yet;
--                                       of a lease id in place of a queue: it ends one worker's wait
--   x:<id>                      list    ends one worker's wait; made and awaited by watch.py alone
local P = KEYS[1]
local LEASES = P .. 'leases'
local TIMERS = P .. 'timers'
local LIMITS = P .. 'limits'
local ASKING = P .. 'asking'
local GATES = P .. 'gates'
local EVENTS = P .. 'events'
-- The time of a gate that no time opens: who has a place in the lane moves its line, or a reap that is asked to.
local NEVER = 9e15
-- So many ms go by at most until every worker has looked what is due: its upkeep's longest pause.
local SOON = 1200

-- Doubles print as 1.7e+12 unless told otherwise.
local function num(value)
  return string.format('%.0f', value)
end

-- A reply in one piece, as wire.py reads it, too. The server sends each array by a write(2) of its own (before 7.0),
-- and wakes its reader with each. (Packing is dear: where '+' would come with one text of letters and digits, that is
-- given alone.)
local function in_one(reply)
  return #reply == 1 and reply[1] or cmsgpack.pack(reply)
end

local function refuse(code, ...)
  return { '!' .. code, ... }
end

-- Appends an event of a subject and wakes who listens. What follows are names and values; empty ones are not shown. A
-- wake-up that can't be sent (a user without channels) must not break the commit: it costs latency.
local function emit(subject, channel, kind, ...)
  local id = redis.call('XADD', EVENTS, '*', 'type', kind, 'subject', subject, ...)
  redis.pcall('PUBLISH', P .. 'live:' .. channel, kind .. ' ' .. id)
end

local function emit_job(id, kind, agent, hop, ...)
  emit(id, id, kind, 'agent', agent, 'hop', hop, ...)
end

-- What an event says more: names and texts, packed by the client.
local function told(packed)
  if packed ~= '' then
    return unpack(cmsgpack.unpack(packed))
  end
end

-- A server that is out of memory refuses a script's first write if that can grow. What must work even then (ending
-- a job, keeping a lease) begins with this.
local function relieve()
  redis.call('ZREM', LEASES, '')
end
