-- Ends jobs with their results. Each is a commit of its own: if one is refused, the others are not.
-- KEYS prefix
-- ARGV job, token, lease, result, checkpoint (5 or more: lib/checkpoint.lua; id '' for none), of each; a checkpoint has
--      one alone
-- Returns {'+', queue of each that is ready now}, {'!fenced' ...}, {'!no_job' ...}, {'!ungrounded', base},
--      {'!thread', id}; a list of these if they are several
--@ uses clock fence record thread job parts append checkpoint
local function complete(at, now)
  local id = ARGV[at]
  local fields, refused = held(id, ARGV[at + 1], ARGV[at + 2], 'complete', unpack(ENDING))
  if not fields then
    return refused
  end
  local last, wrong = read_last(at + 4, fields)
  if wrong then
    return wrong
  end

  if last then
    relieve()
    append_last(last, id, fields, now)
  end
  local filled = finish(id, fields, 'completed', '', now, 'result', ARGV[at + 3], 'error', '', 'tip', fields.tip)
  emit_job(id, 'batonpass.job.completed', fields.agent, fields.hop, 'checkpoint', fields.tip)
  return { '+', unpack(filled) }
end

local ends, now = {}, now_text()
for at = 1, #ARGV, ARGV[5] == '' and 9 or #ARGV do
  ends[#ends + 1] = complete(at, now)
end
return in_one(#ends == 1 and ends[1] or ends)
