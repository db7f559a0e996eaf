#!lua
-- Starts to build a new generation of a dictionary.
--
-- KEYS  the dictionary's meta (shared/dictionary.lua)
-- ARGV  1 profile ("": the dictionary's own)  2 profile of a new dictionary  3 import id  4 id of the new generation
--       5 owner of a dictionary that the import creates ("": none)  6, 7 the time arguments of `runTimed`
-- Reply OK | EXISTS profile | BUSY (too many imports run) | LATE | FORGOTTEN | FORMAT number
-- Holds A repeated start with the same id continues the import. After the end of the import, a repeated start changes
--       nothing, and the next message of the import gets LOST. A new dictionary exists after its first commit.
--
-- @include shared/imports.lua
-- @include shared/timed.lua
local wanted, usual, import, generation, owner = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local begun = redis.call('HGET', KEYS[1], 'import:' .. import)
if begun then
  redis.call('HSET', key_head .. 'state:' .. begun, 'heard', int(now))
  return { 'OK' }
end
local refused = refusal()
if refused then return refused end
-- The start has run before, and the import has ended since. Another start would build in the live generation, or in a
-- generation that is removed.
local is_over = generation == live or redis.call('HEXISTS', KEYS[1], 'garbage:' .. generation) == 1
if is_over then return { 'OK' } end
-- The import of a dead server must not decide the profile.
local import_count = give_up_silent()
local profile = redis.call('HGET', KEYS[1], 'profile')
if profile and wanted ~= '' and wanted ~= profile then return { 'EXISTS', profile } end
if import_count >= MOST_IMPORTS then return { 'BUSY' } end
if not profile then
  profile = wanted ~= '' and wanted or usual
  redis.call('HSET', KEYS[1], 'format', FORMAT, 'profile', profile)
end
redis.call('HSET', KEYS[1], 'import:' .. import, generation)
redis.call(
  'HSET', key_head .. 'state:' .. generation, 'started', int(now), 'heard', int(now), 'received', 0, 'sequence', 0,
  'source', live or '', 'followed', int(live and version or 0), 'at', live and tail or '', 'chunks', 0, 'buckets', 1,
  'owner', owner)
return { 'OK' }
