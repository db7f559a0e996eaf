#!lua flags=allow-oom
-- Sets the limit of a semaphore, and creates the semaphore if there is none. The limit stays until the semaphore is
-- deleted. Or pauses an existing semaphore with the limit 0 and keeps its limit, or ends the pause.
--
-- KEYS   the resource's keys (shared/layout.lua)
-- Args   wish: the limit, or "pause", or "resume"  expected_limit ("": any)
--        max_shown: the most holders, and the most waiters, to show
-- Reply  SET resource_view
--        MISMATCH limit                    the limit in force is not the expected limit
--        NOT_KEPT                          pause and resume: the limit is 0, and there is no kept limit
--        UNKNOWN                           there is no semaphore, and a limit was expected, or `wish` is no limit
--        AGAIN
-- Holds  Takes nothing from holders. After a lower limit, no grant exceeds the limit, not even the claim of an earlier
--        offer. Waiters that never fit get NEVER_FITS. A repeated call gets the same answer.
--
-- @include shared/answers.lua
-- @include shared/epoch-check.lua
-- @include shared/purge.lua
-- @include shared/queue.lua
-- @include shared/state.lua
-- @include shared/views.lua
local wish, expected_limit, max_shown = ...
expected_limit, max_shown = tonumber(expected_limit), tonumber(max_shown)

local refusal = epoch_check()
if refusal then return refusal end
begin('')
purge()
if is_unfinished() or more then return answer('AGAIN') end -- the answer must not show expired leases
local limit = tonumber(wish)
local is_known = find_or_create(nil)
if not is_known and (expected_limit or not limit) then return answer('UNKNOWN') end
local kept = kept_limit()
if not limit then
  if meta.limit == 0 and not kept then return answer('NOT_KEPT') end
  limit = wish == 'pause' and 0 or kept or meta.limit
end
if expected_limit and meta.limit ~= expected_limit and meta.limit ~= limit then
  return answer('MISMATCH', meta.limit)
end

find_or_create(limit)
local before = meta.limit
meta.limit = limit
if limit ~= before or kept and wish ~= 'pause' then is_shown_changed = true end
-- Without a pause to end, nothing is set, because a set limit keeps a semaphore that is forgotten when it is idle.
if wish ~= 'resume' or kept then
  redis.call('SET', limit_key(), wish == 'pause' and kept_text(kept or before) or int(limit))
end
if limit < before or before == 0 then change.misfits, meta.cursor = true, 0 end -- at limit 0, requests of any size wait
if meta.used > limit then
  change.recall = true
  recall_offers()
end
if is_unfinished() then
  -- The answer is not AGAIN, because a repeated script could undo a later change of the limit. The next script goes on.
  more = true
else
  if change.misfits then walk_queue() end
  grant_next()
end
return answer('SET', resource_view(max_shown))
