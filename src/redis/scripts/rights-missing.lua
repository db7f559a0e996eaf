#!lua flags=no-writes
-- Finds the commands that the Redis user of this connection may not run; runs none of them.
--
-- ARGV  1 a key of this service, which is also the name of a channel  2... commands, such as `GET` and `MEMORY|USAGE`
-- Reply the commands that are not permitted. A command that this Redis does not have is not among them
local key = ARGV[1]
local missing = {}
for at = 2, #ARGV do
  local command, part = string.match(ARGV[at], '^([^|]*)|?(.*)$')
  local words = part == '' and { key, key, key } or { part, key }
  if command == 'EVAL' or command == 'EVALSHA' or command == 'FCALL' then words = { '', '1', key } end
  -- pcall fails if this Redis lacks the command, which is no matter of rights.
  local is_known, is_permitted = pcall(redis.acl_check_cmd, command, unpack(words))
  if is_known and not is_permitted then missing[#missing + 1] = ARGV[at] end
end
return missing
