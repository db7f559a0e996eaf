#!lua flags=no-writes
-- Reads some buckets of a generation; read-only.
--
-- KEYS  the dictionary's meta (shared/dictionary.lua)
-- ARGV  1 generation  2 number of the first bucket
-- Reply OK, version and tail of the last write that is completely in the buckets, then the buckets
--       (shared/dictionary.lua) | GAP (the generation was removed) | UNKNOWN | FORMAT number
-- Holds A load that reads all buckets finds every entry, even if buckets are split between two reads.
--
-- @include shared/dictionary.lua
if not live then return { 'UNKNOWN' } end
local generation, bucket = ARGV[1], tonumber(ARGV[2])
local last, last_tail = end_of_history(generation)
if not last then return { 'GAP' } end
if generation == live then last, last_tail = end_of_buckets() end
local buckets = tonumber(redis.call('HGET', key_head .. 'state:' .. generation, 'buckets') or 1)
return { 'OK', int(last), last_tail, read_buckets(generation, bucket, buckets) }
