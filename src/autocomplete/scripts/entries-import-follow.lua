#!lua
-- Applies the next writes of the live generation to the generation that an import builds.
--
-- KEYS  the dictionary's meta (shared/dictionary.lua)
-- ARGV  1 import id
-- Reply OK (no write is left) | AGAIN | LOST (no such import, or the feed lacks a write) | FORMAT number
-- Holds A repeated call continues where the last call ended.
--
-- @include shared/feed.lua
-- @include shared/generation.lua
local generation = redis.call('HGET', KEYS[1], 'import:' .. ARGV[1])
if not generation then return { 'LOST' } end
redis.call('HSET', key_head .. 'state:' .. generation, 'heard', int(now))
return { follow(open_generation(generation)) }
