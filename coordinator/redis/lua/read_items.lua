-- Reads items.
-- KEYS prefix
-- ARGV digest of each
-- Returns {'+', {until, created, updated, ttl, value} or '' for each that is not there ...}
--@ uses clock items
local now, found = now_ms(), { '+' }
for i, digest in ipairs(ARGV) do
  found[i + 1] = living(digest, now, 'created', 'updated', 'ttl', 'value') or ''
end
return found
