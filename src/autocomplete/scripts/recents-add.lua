#!lua
-- Puts a recent in front of its list. A recent with the same identity moves there and gets the new value.
--
-- KEYS  1 list
-- ARGV  1 identity  2 value (shared/recents.lua describes both)
--       3 capacity: the number of recents that the list keeps, as far as they fit into MAX_BYTES
--       4 retention (ms): the list expires this long after the last add ("": never)
-- Reply OK
-- Holds A repeated add has the same result. Redis refuses the script before its first line when memory is full.
--
-- @include shared/recents.lua
local list = KEYS[1]
local identity, value, capacity, retention = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

take_out(list, identity)
local length = redis.call('LPUSH', list, value, identity)
redis.call('LTRIM', list, 0, 2 * capacity - 1)
if math.min(length, 2 * capacity) > ALWAYS_FITS then trim_bytes(list) end
if retention == '' then
  redis.call('PERSIST', list)
else
  redis.call('PEXPIRE', list, retention)
end
return { 'OK' }
