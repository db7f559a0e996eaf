#!lua flags=allow-oom
-- Commits an import, or gives it up.
--
-- KEYS  the dictionary's meta (shared/generations.lua)
-- ARGV  1 import id  2 'commit' or 'abandon'
-- Reply OK | AGAIN (entries are still being put into the index) | LOST (no such import)
-- Holds A commit swaps the generation in at one stroke; all other imports are lost by it. A commit that is repeated
--       gets the same answer. What is no longer needed becomes garbage (dictionary-sweep).
--
-- @include shared/jobs.lua
local import, verb = ARGV[1], ARGV[2]
local build = meta('build:' .. import)
if verb == 'abandon' then
  if build then give_up(import, build) end
  return { 'OK' }
end
if not build then return { meta('committed') == import and 'OK' or 'LOST' } end
if not go_on_with_jobs() then return { 'AGAIN' } end
local live = meta('live')
if live then discard(live) end
redis.call('HSET', KEYS[1], 'live', build, 'committed', import)
redis.call('HDEL', KEYS[1], 'build:' .. import)
redis.call('HINCRBY', KEYS[1], 'generation', 1)
redis.call('UNLINK', key_of('pins', build))
for _, other in ipairs(fields_of('build:')) do give_up(other[1], other[2]) end
return { 'OK' }
