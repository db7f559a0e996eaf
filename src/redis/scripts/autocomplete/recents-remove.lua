#!lua flags=allow-oom
-- Takes a recent out of its list, or the whole list away.
--
-- KEYS  1 list  2 the mark of this removal: it has a name of its own
-- ARGV  1 identity (prelude; "": the whole list)  2 how long the removal may be sent again (ms)
-- Reply REMOVED | NONE: there was no such recent, or no such list
-- Holds Sent again after a lost reply it answers as the first time, by its mark, and does not touch what was added
--       since. Works when memory is full.
--
-- @include shared/recents.lua
local list, mark = KEYS[1], KEYS[2]
local identity, remember = ARGV[1], ARGV[2]

if redis.call('EXISTS', mark) == 1 then return { 'REMOVED' } end
local removed
if identity == '' then
  removed = redis.call('UNLINK', list) == 1
else
  removed = take_out(list, identity)
end
if not removed then return { 'NONE' } end
redis.call('SET', mark, '', 'PX', remember)
return { 'REMOVED' }
