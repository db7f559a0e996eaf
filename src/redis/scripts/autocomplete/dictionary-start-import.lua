#!lua
-- Begins to build a generation aside.
--
-- KEYS  the dictionary's meta (shared/generations.lua)
-- ARGV  1 profile ("": the dictionary's own)  2 profile of a dictionary that is new  3 import id
-- Reply OK, profile | EXISTS profile | BUSY (as many as may be are under way)
-- Holds Begun again by the same id it is the same. Until the first one is committed there is no dictionary.
--
-- @include shared/generations.lua
local wanted, usual, import = ARGV[1], ARGV[2], ARGV[3]
local begun = meta('build:' .. import)
-- Before the profile is looked at: of a dictionary that only silent ones were building there is none any more.
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
