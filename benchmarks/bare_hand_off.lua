-- The commands of hand_off.lua for the job that the benchmark hands on, with values of the same sizes but with nothing
-- checked or worked out: what they take in any one script.
-- KEYS prefix
-- ARGV job id, checkpoint's bytes
-- Returns 'ok'
local P, job, checkpoint = KEYS[1], ARGV[1], 'c001m8b18jcdwcsxkjme1qwm'
redis.call('GET', P .. 'moved')
redis.call('HMGET', P .. 'j:' .. job, 'token', 'lease', 'agent', 'hop', 'thread_digest', 'tip', 'count', 'slot',
  'attempt', 'crashes', 'asked', 'children')
redis.call('TIME')
redis.call('ZADD', P .. 'o:' .. job, 'NX', '0', checkpoint)
redis.call('SET', P .. 'c:' .. job, ARGV[2])
redis.call('HSET', P .. 't:' .. job, checkpoint, '0 - 1795666758032 0 - 372998d049ad63bd897c0e570e25337cd31fb315')
redis.call('XADD', P .. 'events', '*', 'type', 'batonpass.checkpoint.saved', 'subject', job, 'agent', 'pass',
  'hop', '0', 'checkpoint', checkpoint, 'step', 'last')
redis.call('XADD', P .. 'queue', '*', 'job', job)
redis.call('HSET', P .. 'j:' .. job, 'state', 'submitted', 'reason', 'ready', 'due', '0', 'delivery',
  '1795666758032-0', 'closed', 'hand_off l001m8b18hcq383nz60p9s0b', 'lease', '', 'worker', '', 'lease_until', '0',
  'updated', '1795666758032', 'agent', 'start', 'contract', 'bench.topic@1', 'queue',
  'ma7b5pp6x3japnwanyahfjnsyx5x58s5', 'hop', '1', 'tip', checkpoint, 'count', '1')
redis.call('RPUSH', P .. 'wake', '1')
redis.call('ZREM', P .. 'leases', job)
redis.call('UNLINK', P .. 'n:' .. job, P .. 'f:' .. job)
redis.call('XADD', P .. 'events', '*', 'type', 'batonpass.job.handed_off', 'subject', job, 'agent', 'start',
  'hop', '1', 'sender', 'pass', 'checkpoint', checkpoint)
redis.call('PUBLISH', P .. 'live:' .. job, 'batonpass.job.handed_off 1795666758032-1')
return 'ok'
