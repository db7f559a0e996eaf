#!lua
-- Adds selections to an entry.
--
-- KEYS  the dictionary's meta (shared/dictionary.lua)
-- ARGV  1 id of this write  2 entry id  3 number of new selections  4, 5 the time arguments of `runTimed`
-- Reply OK, number of all selections, or -1 without such an entry | AGAIN (a put is finished first) | LATE | FORGOTTEN
--       | UNKNOWN | FORMAT number
-- Holds A repeated write gets the first answer and changes nothing.
--
-- @include shared/write.lua

-- The sum with the largest weight is still exact.
local MOST_SELECTIONS = 4503599627370495

local id = ARGV[2]
local bucket, field = bucket_of(entries, id), SELECTIONS .. id
if redis.call('HEXISTS', bucket, id) == 0 then return { 'OK', '-1' } end
local before = redis.call('HGET', bucket, field)
local count = math.min((before or 0) + tonumber(ARGV[3]), MOST_SELECTIONS)
redis.call('HSET', bucket, field, int(count))
if not before then entries.selected = entries.selected + 1 end
add_write(entries, write_id, 's', cmsgpack.pack({ id, count }), int(count))
save_generation(entries)
return { 'OK', int(count) }
