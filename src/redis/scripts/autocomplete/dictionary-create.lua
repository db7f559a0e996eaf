#!lua
-- Creates an empty dictionary, unless it exists.
--
-- KEYS  the dictionary's meta (shared/generations.lua)
-- ARGV  1 profile
-- Reply OK | EXISTS profile of the existing dictionary
-- Holds A repeated call with the same profile changes nothing.
--
-- @include shared/generations.lua
local profile = ARGV[1]
local known = meta('profile')
if known and known ~= profile then return { 'EXISTS', known } end
if not meta('live') then
  redis.call('HSET', KEYS[1], 'profile', profile, 'live', new_generation())
  redis.call('HINCRBY', KEYS[1], 'generation', 1)
end
return { 'OK' }
