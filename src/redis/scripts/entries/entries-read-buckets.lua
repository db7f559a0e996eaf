#!lua flags=no-writes
-- Reads some buckets of a generation; read-only.
--
-- KEYS  the dictionary's meta (shared/dictionary.lua)
-- ARGV  1 generation  2 number of the first bucket
-- Reply OK, version and tail of the last write that is completely in the buckets, number of buckets, next bucket, and
--       each bucket as { field, value, field, value, ... } in msgpack, one after the other
--       | GAP (the generation was removed) | UNKNOWN | FORMAT number
-- Holds An entry is in a bucket that is read later, or was read before, while buckets are split in between.
--
-- @include shared/history.lua
-- @include shared/buckets-state.lua

-- The read ends after the bucket that reaches one of these bounds.
local MOST_FIELDS = 1000
local MOST_BYTES = 262144

if not live then return { 'UNKNOWN' } end
local generation, bucket = ARGV[1], tonumber(ARGV[2])
local last, last_tail = end_of_history(generation)
if not last then return { 'GAP' } end
if generation == live then last, last_tail = end_of_buckets() end
local buckets = tonumber(redis.call('HGET', key_head .. 'state:' .. generation, 'buckets') or 1)
local head, packed, fields, bytes = key_head .. 'e:' .. generation .. ':', {}, 0, 0
while bucket < buckets and fields < MOST_FIELDS and bytes < MOST_BYTES do
  local content = redis.call('HGETALL', head .. bucket)
  local one = cmsgpack.pack(content)
  packed[#packed + 1] = one
  fields = fields + #content / 2 + 1
  bytes = bytes + #one
  bucket = bucket + 1
end
return { 'OK', int(last), last_tail, int(buckets), int(bucket), table.concat(packed) }
