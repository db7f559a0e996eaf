#!lua flags=allow-oom
-- Commits or abandons an import.
--
-- KEYS  the dictionary's meta (shared/generations.lua)
-- ARGV  1 import id  2 'commit' or 'abandon'
-- Reply OK | AGAIN (entries are still being indexed) | LOST (no such import)
-- Holds A commit replaces the live generation in a single step, and ends all other imports. A repeated commit gets the
--       same answer. Keys that are no longer needed become garbage, which dictionary-sweep removes.
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
