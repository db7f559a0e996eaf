#!lua flags=no-writes
-- Answers the version at which a load of the live generation begins, and its first buckets; read-only.
--
-- KEYS  the dictionary's meta (shared/dictionary.lua)
-- Reply OK, profile, live generation, version, tail, version and tail of the last write that is completely in the
--       buckets, number of entries, bytes of all ids and records, then the first buckets (shared/dictionary.lua)
--       | UNKNOWN | FORMAT number
--
-- @include shared/dictionary.lua
if not live then return { 'UNKNOWN' } end
local numbers = redis.call('HMGET', key_head .. 'state:' .. live, 'count', 'bytes', 'buckets')
if not numbers[3] then damaged('the state of a dictionary') end
local complete, complete_tail = end_of_buckets()
return with_head(int(complete), complete_tail, numbers[1], numbers[2], read_buckets(live, 0, tonumber(numbers[3])))
