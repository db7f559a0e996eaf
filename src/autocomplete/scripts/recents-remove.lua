#!lua flags=allow-oom
-- Removes a recent from its list, or the whole list.
--
-- KEYS  1 list  2 the mark of this removal, a key of its own
-- ARGV  1 identity (shared/recents.lua; "": the whole list)  2 how long the removal may be sent again (ms)
-- Reply REMOVED | NONE (no such recent or list)
-- Holds A removal that is sent again after a lost reply answers as before, because of the mark, and keeps recents that
--       were added since. The script works when memory is full.
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
