#!lua flags=allow-oom
-- Deletes a dictionary.
--
-- KEYS  the dictionary's meta (shared/dictionary.lua)
-- ARGV  1 id of this write  2, 3 the time arguments of `runTimed`
-- Reply OK | UNKNOWN | LATE | FORGOTTEN | FORMAT number
-- Holds The dictionary no longer exists after this script, and its imports are lost. entries-sweep removes the remaining
--       keys. A repeated deletion does not delete a dictionary that was created since.
--
-- @include shared/imports.lua
-- @include shared/timed.lua
local dropped = key_head .. 'dropped'
if redis.call('GET', dropped) == ARGV[1] then return { 'OK' } end
local refused = refusal()
if refused then return refused end
for _, garbage in ipairs(fields_of('garbage:')) do discard(garbage[1], now) end
if live then
  discard(live, now)
  redis.call('HDEL', KEYS[1], 'live', 'version', 'tail', 'pending', 'generation')
  redis.call('SET', dropped, ARGV[1], 'PX', KEPT_US / 1000)
end
for _, import in ipairs(fields_of('import:')) do give_up(import[1], import[2]) end
redis.call('HDEL', KEYS[1], 'profile', 'committed', 'previous', 'owner')
return { live and 'OK' or 'UNKNOWN' }
