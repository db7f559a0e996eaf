#!lua
-- Puts a recent in front of its list; the same one, by its identity, moves there and takes the new value.
--
-- KEYS  1 list
-- ARGV  1 identity  2 value (both as the prelude says)  3 capacity: the list keeps so many of the most recent,
--       or as many of them as fit (prelude)
--       4 retention (ms), after which the list goes unless there is another add ("": it is kept for ever)
-- Reply OK
-- Holds Run twice, it leaves what it left the first time, in front of what came between. Needs memory: refused when
--       that is full, before its first line.
--
-- @include shared/recents.lua
local list = KEYS[1]
local identity, value, capacity, retention = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

take_out(list, identity)
local length = redis.call('LPUSH', list, value, identity)
redis.call('LTRIM', list, 0, 2 * capacity - 1)
if math.min(length, 2 * capacity) > SURELY_FITS then trim_bytes(list) end
if retention == '' then
  redis.call('PERSIST', list)
else
  redis.call('PEXPIRE', list, retention)
end
return { 'OK' }
