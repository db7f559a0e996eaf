#!lua flags=no-writes
-- Says where a load of the live generation begins; read-only.
--
-- KEYS  the dictionary's meta (shared/dictionary.lua)
-- Reply OK, profile, live generation, version, tail, version and tail of the last write that is completely in the
--       buckets, number of entries, bytes of all ids and records, number of buckets | UNKNOWN | FORMAT number
--
-- @include shared/head.lua
-- @include shared/buckets-state.lua
if not live then return { 'UNKNOWN' } end
local numbers = redis.call('HMGET', key_head .. 'state:' .. live, 'count', 'bytes', 'buckets')
local complete, complete_tail = end_of_buckets()
return with_head(int(complete), complete_tail, numbers[1] or '0', numbers[2] or '0', numbers[3] or '1')
