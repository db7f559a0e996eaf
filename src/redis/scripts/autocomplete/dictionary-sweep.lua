#!lua flags=allow-oom
-- Does one step of the remaining work: finishes started changes, abandons silent imports and removes old generations.
--
-- KEYS  the dictionary's meta (shared/generations.lua)
-- Reply MORE (call again) | BUILDING (an import runs: sweep again later) | CLEAN | GONE (no dictionary and no remains)
-- Holds Any server may call the script any number of times.
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
