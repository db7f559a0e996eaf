#!lua flags=allow-oom
-- Deletes a dictionary.
--
-- KEYS  the dictionary's meta (shared/generations.lua)
-- Reply OK | UNKNOWN
-- Holds The dictionary no longer exists after this script, and its imports are lost. The remaining keys become garbage,
--       which dictionary-sweep removes.
--
-- @include shared/generations.lua
local live = meta('live')
if live then
  discard(live)
  redis.call('HDEL', KEYS[1], 'live')
end
for _, build in ipairs(fields_of('build:')) do give_up(build[1], build[2]) end
forget_profile()
return { live and 'OK' or 'UNKNOWN' }
