-- All recorded declarations.
-- KEYS prefix
-- ARGV none
-- Returns {'+', {name, declaration ...}}
return { '+', redis.call('HGETALL', P .. 'agents') }
