#!lua
-- Starts to build a new generation of a dictionary.
--
-- KEYS  the dictionary's meta (shared/generations.lua)
-- ARGV  1 profile ("": the dictionary's own)  2 profile of a new dictionary  3 import id
-- Reply OK, profile | EXISTS profile | BUSY (too many imports run)
-- Holds A repeated start with the same id continues the import. A new dictionary exists after its first commit.
--
-- @include shared/generations.lua
local wanted, usual, import = ARGV[1], ARGV[2], ARGV[3]
local begun = meta('build:' .. import)
-- First: a dictionary that only silent imports were building no longer exists, and has no profile.
local builds = begun and {} or give_up_silent()
local profile = meta('profile')
if profile and wanted ~= '' and wanted ~= profile then return { 'EXISTS', profile } end
if not profile then
  profile = wanted ~= '' and wanted or usual
  redis.call('HSET', KEYS[1], 'profile', profile)
end
if not begun then
  if #builds >= MOST_BUILDS then return { 'BUSY' } end
  local generation = new_generation()
  redis.call('HSET', KEYS[1], 'build:' .. import, generation)
  local now = int(started)
  redis.call('HSET', key_of('state', generation), 'started', now, 'heard', now, 'received', 0)
end
return { 'OK', profile }
