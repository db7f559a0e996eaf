#!lua flags=allow-oom
-- Ends a lease by its secret, and by the identity of its holder.
--
-- KEYS   the resource's keys (shared/layout.lua)
-- Args   id: request id  secret
--        attach: "": the holder releases the lease; else of a stream that has reported `lost`, which may end the lease only
--        if no other call was answered with the lease
--        identity: of the caller ("": none)
-- Reply  RELEASED
--        ENDED cause                       the lease had ended before
--        GONE                              no lease has this secret, or another identity holds the lease
--        SUPERSEDED                        another call was answered with the lease
--        AGAIN
-- Holds  Releases also while grants pause, and frees only the permits of this lease. A repeated release gets the first
--        answer.
--
-- @include shared/answers.lua
-- @include shared/epoch-check.lua
-- @include shared/leases.lua
-- @include shared/purge.lua
-- @include shared/queue.lua
local id, secret, attach, identity = ...

local refusal = epoch_check()
if refusal and refusal[1] == 'LAYOUT' then return refusal end
begin(id)
purge()
if is_unfinished() then return answer('AGAIN') end
local request = records[id]
local is_known = is_holder(request, secret, identity)
if not is_known or request.state ~= HELD or (attach ~= '' and request.answered ~= attach) then
  grant_next() -- `purge` may have ended this lease, and freed its permits
  if not is_known then return answer('GONE') end
  if request.state == ENDED then return answer('ENDED', request.cause) end
  return answer(request.state == HELD and 'SUPERSEDED' or 'GONE')
end
end_lease(id, request, attach == '' and 'released' or 'expired')
if attach == '' and is_holding(request.attach) then send_hint(request.attach, id) end
grant_next()
return answer('RELEASED')
