#!lua
-- Puts one chunk of entries.
--
-- KEYS  the dictionary's meta (shared/dictionary.lua)
-- ARGV  1 id of this write  2 { id, record, id, record, ... } in msgpack  3, 4 the time arguments of `runTimed`
-- Reply OK, 1 | AGAIN (another put is finished first) | LATE | FORGOTTEN | UNKNOWN | FORMAT number
-- Holds A repeated write gets the first answer and changes nothing. An entry keeps its selections.
--
-- @include shared/write.lua
local changes = cmsgpack.unpack(ARGV[2])
for i = 1, #changes, 2 do put_entry(entries, changes[i], changes[i + 1]) end
add_write(entries, write_id, 'p', ARGV[2], 1)
save_generation(entries)
return { 'OK', '1' }
