#!lua flags=allow-oom
-- Reports that a waiting call is alive, and takes the call's offer. A request that Redis has lost is queued again with
-- its own ticket.
--
-- KEYS   the resource's keys (shared/layout.lua)
-- ARGV   1 server  2 request id  3 attach  4 secret  5 permits  6 mode  7 holder_id  8 metadata  9 ttl (us)
--        10 client: its request id and identity ("": no identity)
--        11 limit of a new resource ("": the resource must exist)  12 ticket  13 retention (ms)
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
local server, id, attach, secret = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local permits, mode, holder_id, metadata, ttl = tonumber(ARGV[5]), ARGV[6], ARGV[7], ARGV[8], tonumber(ARGV[9])
local client, initial_limit, ticket, retention_ms = ARGV[10], tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13])

local refusal = epoch_check()
if refusal and (refusal[1] == 'STALE' or refusal[1] == 'LAYOUT') then return refusal end
begin(server, id)
if not refusal then purge() end
if is_unfinished() then return answer(retention_ms, 'AGAIN') end
local request = records[id]
local was_revoked
if request then
  was_revoked = request.revoked or request.cause == 'revoked'
else
  was_revoked = redis.call('ZSCORE', key_of('revoked'), int(ticket)) -- its tombstone may be forgotten (lease-revoke.lua)
end
if refusal and not was_revoked then return refusal end
-- The request waited for a semaphore that was deleted. A new semaphore of the same name is another resource.
if not request and change.cut and ticket <= change.cut then return answer(retention_ms, 'UNKNOWN') end
if not request and was_revoked then return answer(retention_ms, 'FINISHED', 'revoked', '') end
if request and request.attach ~= attach then return answer(retention_ms, 'SUPERSEDED') end
if request and request.state == ENDED then return answer_finished(retention_ms, request) end
if request and request.revoked then
  grant_next()
  return answer_revoked(retention_ms, request, attach)
end
if not find_or_create(initial_limit) then return answer(retention_ms, 'UNKNOWN') end

if never_fits(permits) and not (request and request.state == HELD) then
  if request then dismiss(id, request) end
  grant_next()
  return answer_never_fits(retention_ms)
end

if not request then
  remove_old_tombstone(id)
  request = {
    attach = attach, secret = secret, permits = permits, mode = mode, holder_id = holder_id, metadata = metadata,
    ttl = ttl, queued_at = now,
  }
  identify(request, client)
  request.ticket = ticket
  request.state = DETACHED
  meta.last_ticket = math.max(meta.last_ticket, ticket)
end
if request.state == DETACHED then
  remove('detached', id)
  put('queue', request.ticket, id)
  request.state = WAITING
  store(id, request)
end
mark_alive(server)
if request.state == HELD then set_end(id, now + request.ttl) end
grant_next()
if request.state == OFFERED then hold(id, request) end
if request.state == HELD then return answer_granted(retention_ms, id, request) end
return answer(
  retention_ms, 'WAITING', request.ticket, redis.call('ZRANK', key_of('queue'), id) + 1, queue_snapshot())
