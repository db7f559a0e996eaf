#!lua flags=allow-oom
-- Deletes one chunk of entries with their selections.
--
-- KEYS  the dictionary's meta (shared/dictionary.lua)
-- ARGV  1 id of this write  2 { id, id, ... } in msgpack  3, 4 the time arguments of `runTimed`
-- Reply OK, number of deleted entries | AGAIN (a put is finished first) | LATE | FORGOTTEN | UNKNOWN | FORMAT number
-- Holds A repeated write gets the first answer and changes nothing. Without a deleted entry the version stays, except while
--       an import is open, which must not restore the entries, or while the generation before is kept: copies of that
--       generation still answer, and may have the entries.
--
-- @include shared/write.lua
local deleted = 0
for _, id in ipairs(cmsgpack.unpack(ARGV[2])) do deleted = deleted + delete_entry(entries, id) end
local function is_import_open()
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    if string.sub(field, 1, 7) == 'import:' then return true end
  end
end
local is_previous_kept = meta[7]
if deleted > 0 or is_previous_kept or is_import_open() then
  add_write(entries, write_id, 'd', ARGV[2], deleted)
  save_generation(entries)
end
return { 'OK', int(deleted) }
