-- One checkpoint with its state.
-- KEYS prefix
-- ARGV checkpoint
-- Returns {'+', {id, thread name, name, commit line, record, what each span holds ...}}, {'!no_checkpoint', id}
--@ uses clock record parts whole
local id = ARGV[1]
local record = redis.call('GET', P .. 'c:' .. id)
if not record then
  return refuse('no_checkpoint', id)
end
local thread = string.sub(record, 1, 32)
local known, name = redis.call('HMGET', P .. 't:' .. thread, id, 'name'), name_of(id, thread)
local commit = known[1] or ''
local expires, spans = string.match(commit, '^%S+ %S+ %d+ (%d+) (%S+) ')
if expires and expires ~= '0' and name == '' and expires - now_text() <= 0
    and intact(id, string.sub(record, 51, 50 + (tonumber(string.sub(record, 33, 40)) or 0)), commit) then
  return refuse('no_checkpoint', id)
end
local reply = { id, known[2] or '', name, commit, record }
if spans and spans ~= '-' then
  read_spans(spans, reply)
end
return in_one({ '+', reply })
