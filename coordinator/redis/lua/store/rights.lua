-- Says which commands the user may not call in scripts. Only Redis 7 and newer can tell.
-- KEYS prefix
-- ARGV commands
-- Returns {'+', those commands ...}
local lacking = { '+' }
for _, command in ipairs(redis.acl_check_cmd and ARGV or {}) do
  local known, allowed = pcall(redis.acl_check_cmd, command, P, P, P)
  if known and not allowed then
    lacking[#lacking + 1] = command
  end
end
return lacking
