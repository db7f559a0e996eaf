#!lua
-- Commits a put of several chunks, which were staged before. entries-finish then writes them to the buckets.
--
-- KEYS  the dictionary's meta (shared/dictionary.lua)
-- ARGV  1 id of this write  2 number of chunks  3, 4 the time arguments of `runTimed`
-- Reply OK, 1 | EXPIRED (a chunk is missing) | AGAIN (another put is finished first) | LATE | FORGOTTEN | UNKNOWN
--       | FORMAT number
-- Holds All entries of the put belong to one version. The chunks last as long as the element of the feed.
--
-- @include shared/write.lua
local count, bytes = tonumber(ARGV[2]), 0
for n = 0, count - 1 do
  local size = redis.call('STRLEN', key_head .. 'stage:' .. write_id .. ':' .. n)
  if size == 0 then return { 'EXPIRED' } end
  bytes = bytes + size
end
for n = 0, count - 1 do redis.call('PERSIST', key_head .. 'stage:' .. write_id .. ':' .. n) end
redis.call('HSET', KEYS[1], 'pending', cmsgpack.pack({ write_id, count, 0, tail }))
entries.feed = entries.feed + bytes
entries.staged = entries.staged + 1
add_write(entries, write_id, 'b', cmsgpack.pack({ count, bytes }), 1)
save_generation(entries)
return { 'OK', '1' }
