#!lua flags=allow-oom
-- Writes the next chunk of a committed put to the buckets.
--
-- KEYS  the dictionary's meta (shared/dictionary.lua)
-- Reply OK | AGAIN (chunks are left) | UNKNOWN | FORMAT number
-- Holds Any server may call the script any number of times.
--
-- @include shared/generation.lua
-- @include shared/pending.lua
if not live then return { 'UNKNOWN' } end
if not pending then return { 'OK' } end
local entries = open_live()
write_pending(entries)
save_generation(entries)
return { pending and 'AGAIN' or 'OK' }
