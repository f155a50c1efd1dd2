-- Commits a checkpoint, and journal records with it. The same checkpoint again answers what the first time did.
-- KEYS prefix
-- ARGV job or '', token, lease, thread digest (without a job), thread name, parent or '', '1' to branch,
--      checkpoint (8: lib/checkpoint.lua), then key, value of each journal record
-- Returns {'+', commit line}, {'!fenced' ...}, {'!no_job'}, {'!busy' ...}, {'!no_checkpoint'}, {'!moved' ...}
--@ uses clock job checkpoint
local id, thread, parent = ARGV[1], ARGV[4], ARGV[6]
local checkpoint = read_checkpoint(8)
local fields, refused
if id ~= '' then
  fields, refused = held(id, ARGV[2], ARGV[3])
  if not fields then
    return refused
  end
  thread, parent = fields.thread, fields.tip
end
local there = redis.call('HGET', P .. 'c:' .. checkpoint.id, 'm')
if there then
  return { '+', there }
end
local state = redis.call('HMGET', P .. 't:' .. thread, 'count', 'tip', 'job')
if id == '' then
  local tip = state[2] or ''
  if state[3] and state[3] ~= '' then
    return refuse('busy', ARGV[5], state[3])
  end
  if parent == '' then
    parent = tip
  elseif redis.call('EXISTS', P .. 'c:' .. parent) == 0 then
    return refuse('no_checkpoint', parent)
  elseif parent ~= tip and ARGV[7] ~= '1' then
    return refuse('moved', parent, tip ~= '' and tip or 'none')
  end
end

local now = now_ms()
local commit = append(checkpoint, thread, tonumber(state[1] or 0), parent, now)
if id == '' then
  redis.call('HSET', P .. 't:' .. thread, 'name', ARGV[5])
  emit(ARGV[5], thread, 'batonpass.checkpoint.saved',
    'agent', checkpoint.agent, 'checkpoint', checkpoint.id, 'step', checkpoint.step)
else
  append_journal(id, 16)
  redis.call('HSET', P .. 'j:' .. id, 'tip', checkpoint.id, 'updated', num(now))
  emit_job(id, 'batonpass.checkpoint.saved', fields.agent, fields.hop,
    'checkpoint', checkpoint.id, 'step', checkpoint.step)
end
return { '+', commit }
