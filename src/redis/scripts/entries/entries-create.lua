#!lua
-- Creates an empty dictionary, unless it exists.
--
-- KEYS  the dictionary's meta (shared/dictionary.lua)
-- ARGV  1 profile  2 id of the new generation  3 id of this write  4, 5 the time arguments of `runTimed`
-- Reply OK | EXISTS profile of the existing dictionary | LATE | FORMAT number
-- Holds A repeated call with the same profile changes nothing.
--
-- @include shared/generation.lua
-- @include shared/feed.lua
local profile, generation, write_id = ARGV[1], ARGV[2], ARGV[3]
if meta[6] and meta[6] ~= profile then return { 'EXISTS', meta[6] } end
if live then return { 'OK' } end
if now > tonumber(ARGV[4]) then return { 'LATE' } end
redis.call('HSET', KEYS[1], 'format', FORMAT, 'profile', profile, 'live', generation)
redis.call('HINCRBY', KEYS[1], 'generation', 1)
redis.call('HDEL', KEYS[1], 'dropped')
local entries = open_generation(generation)
add_write(entries, write_id, 'c', cmsgpack.pack({}), 1)
save_generation(entries)
return { 'OK' }
