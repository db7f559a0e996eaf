#!lua flags=allow-oom
-- Deletes a semaphore. Without force, the semaphore must have no holder and no waiter. With force, holders learn that
-- their lease was revoked, and waiters learn that there is no semaphore. This script tells the first batch. The next
-- scripts of the resource tell the rest before their own step.
--
-- KEYS   the resource's keys (shared/layout.lua)
-- Args   force: 1, else 0  deletion_id
-- Reply  DELETED | IN_USE number_of_holders number_of_waiters | UNKNOWN | AGAIN
-- Holds  A repeated deletion answers DELETED while tombstones are kept, and does not delete a semaphore created since.
--        After the first step no request from before the deletion is granted.
--
-- @include shared/answers.lua
-- @include shared/epoch-check.lua
-- @include shared/names.lua
-- @include shared/purge.lua
-- @include shared/queue.lua
-- @include shared/state.lua
local force, deletion_id = ...
force = force == '1'

local refusal = epoch_check()
if refusal then return refusal end
begin('')
purge()
if is_unfinished() then return answer('AGAIN') end
if change.id == deletion_id then return answer('DELETED') end
if not find_or_create(nil) then return answer(change.at and 'DELETED' or 'UNKNOWN') end
if not force then
  if clean_queue() then grant_next() end
  -- Expired leases and waiters of dead servers are still there, and must not count.
  if more then return answer('AGAIN') end
  count_again('queue')
  if has_holders() or meta.queue > 0 then
    return answer('IN_USE', meta.ends + meta.offers, meta.queue)
  end
end

redis.call('UNLINK', limit_key())
unlist_name()
meta.limit, is_shown_changed = nil, true
meta.last_ticket = math.max(meta.last_ticket, now) -- later tickets are higher even if Redis's clock is set back
change = { at = now, cut = meta.last_ticket, id = deletion_id, dissolving = true }
end_all_requests()
-- The answer is not AGAIN, because a repeated deletion could delete a new semaphore. The next script goes on.
if is_unfinished() then more = true end
return answer('DELETED')
