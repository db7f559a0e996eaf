#!lua flags=allow-oom
-- Renews a held lease by its secret, and by the identity of its holder. A renewal with an attach comes from a
-- stream or a session, which may take the lease over.
--
-- KEYS   the resource's keys (shared/layout.lua)
-- Args   id: request id  secret  ttl (us; 0: as granted)  attach ("": a unary renewal)
--        take_over: 1 if `attach` speaks for the lease from now on, 0 if `attach` must do so already
--        identity: of the caller ("": none)  metadata: of the holder from now on ("": the metadata stays; "{}": none)
-- Reply  GRANTED fencing_token remaining_us ttl_us secret permits client_request_id (absent without an identity)
--        ENDED cause                       the lease has ended
--        GONE                              no lease has this secret, or another identity holds the lease
--        SUPERSEDED                        another stream, or a later session or command of the same client, has the lease
--        AGAIN
-- Holds  Renews also while grants pause, except a lease that may have ended on another Redis: that Redis may have granted
--        the name again. Never shortens a lease and never restores an ended lease. A longer ttl becomes the lease's ttl.
--
-- @include shared/answers.lua
-- @include shared/epoch-check.lua
-- @include shared/leases.lua
-- @include shared/purge.lua
-- @include shared/queue.lua
local id, secret, ttl, attach, take_over, identity, metadata = ...
ttl, take_over = tonumber(ttl), take_over == '1'

local refusal = epoch_check()
if refusal and (refusal[1] == 'STALE' or refusal[1] == 'LAYOUT') then return refusal end
begin(id)
purge()
if is_unfinished() then return answer('AGAIN') end
local request = records[id]
local is_known = is_holder(request, secret, identity)
local may_renew = attach == '' or is_known and (
  request.attach == attach or take_over and not is_after(request.attach, attach))
if not is_known or request.state ~= HELD or not may_renew or request.revoked then
  grant_next() -- `purge` may have ended this lease, and freed its permits
  if not is_known or (request.state ~= HELD and request.state ~= ENDED) then return answer('GONE') end
  -- A stream learns of the takeover even if the lease has ended since.
  if not may_renew then return answer('SUPERSEDED') end
  return answer('ENDED', request.cause or 'revoked')
end

if refusal and end_of(id) + clock_shift <= rival_until then return refusal end

local has_changed = ttl > request.ttl
if has_changed then request.ttl = ttl end
if metadata ~= '' and metadata ~= request.metadata then
  request.metadata, has_changed, is_shown_changed = metadata, true, true
end
if take_over and request.attach ~= attach then
  if is_holding(request.attach) and server_of(request.attach) ~= calling_server then send_hint(request.attach, id) end
  request.attach, request.answered, request.returnable, has_changed = attach, attach, 0, true
elseif attach == '' and request.answered ~= '' then
  request.answered, has_changed = '', true -- a second call is answered, so the stream no longer knows the latest end
end
if has_changed then store(id, request) end
set_end(id, math.max(end_of(id), now + (ttl > 0 and ttl or request.ttl)))
grant_next()
return answer_granted(id, request)
