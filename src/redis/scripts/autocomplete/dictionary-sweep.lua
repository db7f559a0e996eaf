#!lua flags=allow-oom
-- One step of what is left to do: changes of entries that were begun, imports that are given up, generations that are
-- taken apart.
--
-- KEYS  the dictionary's meta (shared/generations.lua)
-- Reply how it stands: MORE (call again) | BUILDING (an import is under way: look again later) | CLEAN | GONE (there is
--       no dictionary, and nothing left of one)
-- Holds Whoever calls it, and how often, the end is the same.
--
-- @include shared/jobs.lua
if not go_on_with_jobs() or elapsed() > WRITE_BUDGET then return { 'MORE' } end

local builds = give_up_silent()
for _, garbage in ipairs(fields_of('garbage:')) do
  if not take_apart(garbage[1]) then return { 'MORE' } end
end
if #builds > 0 then return { 'BUILDING' } end
if meta('live') then return { 'CLEAN' } end
redis.call('DEL', KEYS[1])
return { 'GONE' }
