#!lua flags=allow-oom
-- Does a step of the work that writes wait for: the next chunk of a committed put, the next step of a commit, or room in
-- the feed.
--
-- KEYS  the dictionary's meta (shared/dictionary.lua)
-- Reply OK | AGAIN (work is left) | UNKNOWN | FORMAT number
-- Holds Any server may call the script any number of times.
--
-- @include shared/commit.lua
if not live then return { 'UNKNOWN' } end
return { finish_step() and 'OK' or 'AGAIN' }
