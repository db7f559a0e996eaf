#!lua flags=no-writes
-- Finds the commands that the Redis user of this connection may not run; runs none of them.
--
-- ARGV  1 a key of this service, which is also the name of a channel  2... commands, such as `GET` and `MEMORY|USAGE`
-- Reply the commands that are not permitted
local key = ARGV[1]
local missing = {}
for at = 2, #ARGV do
  local command, part = string.match(ARGV[at], '^([^|]*)|?(.*)$')
  local permitted
  if command == 'EVAL' or command == 'EVALSHA' then permitted = redis.acl_check_cmd(command, '', '1', key)
  elseif part == '' then permitted = redis.acl_check_cmd(command, key, key, key)
  else permitted = redis.acl_check_cmd(command, part, key) end
  if not permitted then missing[#missing + 1] = ARGV[at] end
end
return missing
