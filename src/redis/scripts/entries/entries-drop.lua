#!lua flags=allow-oom
-- Deletes a dictionary.
--
-- KEYS  the dictionary's meta (shared/dictionary.lua)
-- ARGV  1 id of this write  2, 3 the time arguments of `runTimed`
-- Reply OK | UNKNOWN | LATE | FORMAT number
-- Holds The dictionary no longer exists after this script, and its imports are lost. entries-sweep removes the remaining
--       keys, and until then a repeated deletion gets the same answer.
--
-- @include shared/imports.lua
if redis.call('HGET', KEYS[1], 'dropped') == ARGV[1] then return { 'OK' } end
if now > tonumber(ARGV[2]) then return { 'LATE' } end
local existed = live
for _, garbage in ipairs(fields_of('garbage:')) do discard(garbage[1], now) end
if live then
  discard(live, now)
  redis.call('HDEL', KEYS[1], 'live', 'version', 'tail', 'pending', 'generation')
  redis.call('HSET', KEYS[1], 'dropped', ARGV[1])
  live = false
end
for _, import in ipairs(fields_of('import:')) do give_up(import[1], import[2]) end
if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HDEL', KEYS[1], 'profile', 'committed', 'previous') end
return { existed and 'OK' or 'UNKNOWN' }
