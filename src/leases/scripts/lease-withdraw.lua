#!lua flags=allow-oom
-- Ends a wait. If the request was granted meanwhile, the call takes the grant, or gives back a grant that no client was
-- told of, even if the lease has ended since.
--
-- KEYS   the resource's keys (shared/layout.lua)
-- Args   id: request id  attach
--        give_back: 1 if the caller is gone, 0 if the call takes a grant, 2 as 1, but only a direct grant that no command of
--        the call was answered with
--        token: of the only grant that may be given back ("": any grant, offer or place of the call)
-- Reply  GRANTED fencing_token remaining_us ttl_us secret permits client_request_id (only if `give_back` is 0)
--        WITHDRAWN queue_snapshot ticket ("": unknown)
--        KEPT                              not given back, because another call was answered with the lease
--        SUPERSEDED                        another call speaks for the request
--        FINISHED cause token              the lease of this request id has ended (answers.lua) or was revoked
--                                          (answers.lua), or the waiting request was revoked
--        AGAIN
-- Holds  Acts only for the stored attach. While grants pause, the script takes neither an offer nor a grant that no
--        client was told of, and still ends the wait. The place is kept for the same request id for KEEP_PLACE_US.
--
-- @include shared/answers.lua
-- @include shared/epoch-check.lua
-- @include shared/leases.lua
-- @include shared/purge.lua
-- @include shared/queue.lua
-- @include shared/views.lua
local id, attach, give_back, token = ...
local only_unheard = give_back == '2'
give_back = give_back ~= '0'

local refusal = epoch_check()
if refusal and refusal[1] == 'LAYOUT' then return refusal end
begin(id)
purge()
if is_unfinished() then return answer('AGAIN') end
local request = records[id]
if request and request.attach ~= attach then return answer('SUPERSEDED') end

-- A repeated command may run late, when the call already has its next grant.
local is_meant = token == '' or request and (request.state == HELD or request.state == ENDED)
  and tonumber(request.fencing_token) == tonumber(token)
local ticket = request and request.ticket or ''
if request and request.state == ENDED then
  if not (give_back and is_meant and request.fencing_token) or only_unheard then
    return answer_finished(request)
  end
  -- The request has not finished; the call keeps the ticket and claims with it. No branch below acts on ENDED.
  remove_tombstone(id)
end
if request and request.revoked and not (give_back and is_meant) then
  grant_next()
  return answer_revoked(request, attach)
end
if request and give_back and is_meant then
  local least = only_unheard and 2 or 1
  if request.state == HELD and not (request.answered == attach and request.returnable >= least) then
    return answer('KEPT')
  end
  if request.revoked then
    -- No client was told of the lease, so its permits are free now. The request has finished.
    end_lease(id, request, 'revoked')
    grant_next()
    return answer_finished(records[id])
  end
  if request.state == OFFERED or request.state == HELD then
    take_back(id, request)
  elseif request.state == WAITING then
    detach(id, request)
  end
end
grant_next()
if request and not give_back then
  if request.state == OFFERED then
    if not refusal then hold(id, request) end
  elseif request.state == HELD then
    if not refusal then
      set_end(id, now + request.ttl)
    elseif request.answered == attach and request.returnable >= 1 then
      take_back(id, request) -- no client was told of the grant, which may have been wrong
    end
  elseif request.state == WAITING then
    detach(id, request)
    grant_next() -- without this request in the queue, the next waiter may fit
  end
  if request.state == HELD then return answer_granted(id, request) end
end
if refusal and not give_back then return answer(refusal[1]) end
return answer('WITHDRAWN', queue_snapshot(), ticket)
