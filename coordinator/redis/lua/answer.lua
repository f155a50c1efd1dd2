-- Answers a suspended job's question. The same answer again changes nothing.
-- KEYS prefix
-- ARGV job, answer, which question or '0' for any, who answers or ''
-- Returns {'+'}, {'!no_job'}, {'!not_asking', job, state}, {'!asks_other', job, which question, the one asked now}
--@ uses clock record thread job
local id, wanted, digest = ARGV[1], ARGV[3], redis.sha1hex(ARGV[2])
local job = redis.call('HMGET', P .. 'j:' .. id, 'state', 'answered', 'queue', 'agent', 'hop', 'asked', 'due',
  'escalation')
if not job[1] then
  return refuse('no_job', id)
end
local asked = job[6] or '0'
if job[1] ~= 'input_required' or (wanted ~= '0' and wanted ~= asked) then
  -- A retry: the answer may have been taken before, and the job may be at other agents and questions by now.
  local of, taken = string.match(job[2] or '', '^(%d+) (%x+)$')
  if taken == digest and (wanted == '0' or wanted == of) then
    return { '+' }
  elseif job[1] == 'input_required' then
    return refuse('asks_other', id, wanted, asked)
  end
  return refuse('not_asking', id, job[1])
end

local timed = tonumber(job[7] or '') or 0
local kept = timed > 0 and { 'escalation', job[7] .. '\n' .. (job[8] or '') } or {}
go_ahead(id, job[3], 'answer', ARGV[2], 'answered', asked .. ' ' .. digest, 'updated', num(now_ms()), unpack(kept))
redis.call('ZREM', ASKING, id)
redis.call('ZREM', TIMERS, id)
emit_job(id, 'batonpass.job.answered', job[4], job[5], unpack(ARGV[4] ~= '' and { 'by', ARGV[4] } or {}))
return { '+' }
