#!lua flags=allow-oom
-- Reports that a waiting call is alive, and takes the call's offer. A request that Redis has lost is queued again with
-- its own ticket.
--
-- KEYS   the resource's keys (shared/layout.lua)
-- Args   id ... initial_limit: as of lease-acquire.lua  ticket
-- Reply  GRANTED fencing_token remaining_us ttl_us secret permits client_request_id (absent without an identity)
--        WAITING ticket position queue_snapshot
--        SUPERSEDED                        another call speaks for the request
--        FINISHED cause token              the lease of this request id has ended (answers.lua) or was revoked
--                                          (answers.lua), or the waiting request was revoked
--        NEVER_FITS limit | UNKNOWN | AGAIN
-- Holds  Acts only for the stored attach. A second claim gets the same lease, and never shortens the lease. While grants
--        pause, a claim changes nothing, and learns only that its request was revoked. A revoked request is never queued
--        again.
--
-- @include shared/answers.lua
-- @include shared/epoch-check.lua
-- @include shared/leases.lua
-- @include shared/purge.lua
-- @include shared/queue.lua
-- @include shared/servers.lua
-- @include shared/state.lua
-- @include shared/transitions.lua
-- @include shared/views.lua
local id, attach, secret, permits, mode, holder_id, metadata, ttl, client, initial_limit, ticket = ...
permits, ttl, initial_limit, ticket = tonumber(permits), tonumber(ttl), tonumber(initial_limit), tonumber(ticket)

local refusal = epoch_check()
if refusal and (refusal[1] == 'STALE' or refusal[1] == 'LAYOUT') then return refusal end
begin(id)
if not refusal then purge() end
if is_unfinished() then return answer('AGAIN') end
local request = records[id]
local was_revoked
if request then
  was_revoked = request.revoked or request.cause == 'revoked'
else
  was_revoked = redis.call('ZSCORE', key_of('revoked'), int(ticket)) -- its tombstone may be forgotten (lease-revoke.lua)
end
if refusal and not was_revoked then return refusal end
-- The request waited for a semaphore that was deleted. A new semaphore of the same name is another resource.
if not request and change.cut and ticket <= change.cut then return answer('UNKNOWN') end
if not request and was_revoked then return answer('FINISHED', 'revoked', '') end
if request and request.attach ~= attach then return answer('SUPERSEDED') end
if request and request.state == ENDED then return answer_finished(request) end
if request and request.revoked then
  grant_next()
  return answer_revoked(request, attach)
end
if not find_or_create(initial_limit) then return answer('UNKNOWN') end

if never_fits(permits) and not (request and request.state == HELD) then
  if request then dismiss(id, request) end
  grant_next()
  return answer_never_fits()
end

if not request then
  remove_old_tombstone(id)
  request = {
    attach = attach, secret = secret, permits = permits, mode = mode, holder_id = holder_id, metadata = metadata,
    ttl = ttl, ticket = ticket, queued_at = ticket,
  }
  identify(request, client)
  request.state = DETACHED
  meta.last_ticket = math.max(meta.last_ticket, ticket)
end
if request.state == DETACHED then
  remove('detached', id)
  put('queue', request.ticket, id)
  request.state = WAITING
  store(id, request)
end
mark_alive(calling_server)
if request.state == HELD then set_end(id, now + request.ttl) end
grant_next()
if request.state == OFFERED then hold(id, request) end
if request.state == HELD then return answer_granted(id, request) end
return answer('WAITING', request.ticket, redis.call('ZRANK', key_of('queue'), id) + 1, queue_snapshot())
