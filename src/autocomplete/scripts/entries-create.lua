#!lua
-- Creates an empty dictionary, unless it exists.
--
-- KEYS  the dictionary's meta (shared/dictionary.lua)
-- ARGV  1 profile  2 id of the new generation  3 id of this write  4 owner of a new dictionary ("": none)
--       5, 6 the time arguments of `runTimed`
-- Reply OK | EXISTS profile of the existing dictionary | LATE | FORGOTTEN | FORMAT number
-- Holds A repeated call with the same profile changes nothing.
--
-- @include shared/dictionary.lua
-- @include shared/feed.lua
-- @include shared/generation.lua
-- @include shared/imports.lua
-- @include shared/timed.lua
local profile, generation, write_id, owner = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
-- The import of a dead server must not decide the profile.
if not live then give_up_silent() end
local existing = redis.call('HGET', KEYS[1], 'profile')
if existing and existing ~= profile then return { 'EXISTS', existing } end
if live then return { 'OK' } end
local refused = refusal()
if refused then return refused end
redis.call('HSET', KEYS[1], 'format', FORMAT, 'profile', profile, 'live', generation)
set_owner(owner)
redis.call('HINCRBY', KEYS[1], 'generation', 1)
local entries = open_generation(generation)
add_write(entries, write_id, 'c', cmsgpack.pack({}), 1)
save_generation(entries)
return { 'OK' }
