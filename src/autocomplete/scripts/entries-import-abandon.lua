#!lua flags=allow-oom
-- Abandons an import.
--
-- KEYS  the dictionary's meta (shared/dictionary.lua)
-- ARGV  1 import id
-- Reply OK | FORMAT number
-- Holds Without such an import, nothing changes. entries-sweep removes the keys of the built generation.
--
-- @include shared/imports.lua
local generation = redis.call('HGET', KEYS[1], 'import:' .. ARGV[1])
if generation then give_up(ARGV[1], generation) end
return { 'OK' }
