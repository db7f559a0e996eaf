#!lua flags=no-writes
-- Reads the writes after a version of a generation; read-only.
--
-- KEYS  the dictionary's meta (shared/dictionary.lua)
-- ARGV  1 generation  2 version  3 tail of that version
-- Reply OK, profile, live generation, version, tail, { elements of the feed (shared/feed.lua) }, tail after the last element
--       | GAP | UNKNOWN | FORMAT number
-- Holds The first element follows the given version, and the elements follow each other. The elements end after
--       256 KiB or 1,000 writes. A replaced generation answers its own writes, until it is removed. The first write of the live
--       generation follows the last write of the replaced generation.
--
-- @include shared/dictionary.lua

-- The elements end at one of these bounds.
local ANSWER_BYTES = 262144
local ANSWER_WRITES = 1000
-- The most elements that are read at once. An element has at most 64 KiB, so at most 192 KiB are read and not answered.
local READ_AT_ONCE = 4

if not live then return { 'UNKNOWN' } end
local generation, after, after_tail = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local last, last_tail = end_of_history(generation)
if not last or after > last then return { 'GAP' } end
if after == last and after_tail ~= last_tail then return { 'GAP' } end
local feed = key_head .. 'feed:' .. generation
local answer, bytes, from = {}, 0, after - last
if from < 0 and redis.call('LLEN', feed) < -from then return { 'GAP' } end
while from < 0 and bytes < ANSWER_BYTES and #answer < ANSWER_WRITES do
  for _, element in ipairs(redis.call('LRANGE', feed, from, math.min(from + READ_AT_ONCE - 1, -1))) do
    if #answer == 0 then
      local _, header = cmsgpack.unpack_one(element)
      if header[1] ~= after_tail then return { 'GAP' } end
    end
    if bytes < ANSWER_BYTES then answer[#answer + 1] = element end
    bytes = bytes + #element
  end
  from = from + READ_AT_ONCE
end
if #answer > 0 then
  local _, header = cmsgpack.unpack_one(answer[#answer])
  after_tail = tail_after(header[1], header[2])
end
return with_head(answer, after_tail)
