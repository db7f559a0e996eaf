#!lua
-- Acquires permits, or queues the request, or refuses it. A repeated request id gets the same lease or the same place.
--
-- KEYS   the resource's keys (shared/layout.lua)
-- ARGV   1 server  2 request id  3 attach  4 secret of a new lease  5 permits  6 mode  7 holder_id  8 metadata
--        9 ttl (us)  10 client: its request id and identity ("": no identity)  11 wait: 1 to queue, 0 to try once
--        12 take over a held lease: 1 for a stream or a session, else 0  13 limit of a new resource ("": the resource must exist)
--        14 maximum number of waiters  15 retention (ms)
-- Reply  GRANTED fencing_token remaining_us ttl_us secret permits client_request_id (absent without an identity)
--        WAITING ticket position queue_snapshot
--        REFUSED queue_snapshot            the request did not wait and does not fit now
--        MISMATCH field                    the request id is known with another value of this field
--        SUPERSEDED                        a later session or command of the same client speaks for the request
--        FINISHED cause token              the lease of this request id has ended (answers.lua) or was revoked
--                                          (answers.lua)
--        NEVER_FITS limit | QUEUE_FULL number_of_waiters | UNKNOWN | AGAIN
-- Holds  A new request is granted only if no request waits. Order: purge, known request, grant_next, grant or queue.
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
local permits, mode, holder_id, metadata = tonumber(ARGV[5]), ARGV[6], ARGV[7], ARGV[8]
local ttl, client, wait, take_over = tonumber(ARGV[9]), ARGV[10], ARGV[11] == '1', ARGV[12] == '1'
local initial_limit, max_waiters, retention_ms = tonumber(ARGV[13]), tonumber(ARGV[14]), tonumber(ARGV[15])

local refusal = epoch_check()
if refusal then return refusal end
begin(server, id)
purge()
-- A request that does not wait must not be refused because of expired leases that are not purged yet.
if is_unfinished() or (more and not wait) then return answer(retention_ms, 'AGAIN') end
local request = records[id]
if request and request.state == ENDED then
  if request.attach ~= attach and request.fencing_token then
    request.fencing_token, request.ticket = nil, nil -- a second call learns of the end, so no call may give the lease back
    store(id, request)
  end
  return answer_finished(retention_ms, request)
end
if not find_or_create(initial_limit) then return answer(retention_ms, 'UNKNOWN') end

if request and (request.permits ~= permits or request.mode ~= mode or request.holder_id ~= holder_id) then
  local field = request.holder_id ~= holder_id and 'holder_id' or request.mode ~= mode and 'mode' or 'permit_count'
  return answer(retention_ms, 'MISMATCH', field)
end

if request and take_over and is_after(request.attach, attach) then
  grant_next()
  return answer(retention_ms, 'SUPERSEDED')
end
if request and request.revoked then
  grant_next()
  return answer_revoked(retention_ms, request, attach)
end
if request and request.state == HELD then
  if request.attach ~= attach then
    if take_over then
      if is_holding(request.attach) and server_of(request.attach) ~= server then send_hint(request.attach, id) end
      request.attach, request.answered, request.returnable = attach, attach, 0
      request.ttl = math.max(request.ttl, ttl)
      set_end(id, math.max(end_of(id), now + ttl))
    else
      request.answered = '' -- a second call is answered with the lease, so no call may give the lease back
    end
    store(id, request)
  end
  grant_next()
  return answer_granted(retention_ms, id, request)
end

if never_fits(permits) then
  if request then dismiss(id, request) end
  grant_next()
  return answer_never_fits(retention_ms)
end

if request then
  if request.attach ~= attach and server_of(request.attach) ~= server then send_hint(request.attach, id) end
  if request.metadata ~= metadata then is_shown_changed = true end
  request.attach, request.ttl, request.metadata = attach, ttl, metadata
  if request.state ~= OFFERED then
    if request.state == DETACHED then remove('detached', id) end
    put('queue', request.ticket, id)
    request.state = WAITING
    store(id, request)
    mark_alive(server)
  end
end
local is_queue_empty = grant_next()
if request and request.state == OFFERED then hold(id, request) end
if request and request.state == HELD then return answer_granted(retention_ms, id, request) end

if not request then
  local at_once = is_queue_empty and fits(permits)
  if not at_once and not wait then return answer(retention_ms, 'REFUSED', queue_snapshot()) end
  local place_count = at_once and 0 or meta.queue + meta.detached
  if place_count >= max_waiters then
    if clean_queue() then grant_next() end -- the walk frees the places of dead servers' waiters
    count_again('queue')
    count_again('detached')
    return answer(retention_ms, 'QUEUE_FULL', place_count)
  end
  remove_old_tombstone(id)
  request = {
    attach = attach, secret = secret, permits = permits, mode = mode, holder_id = holder_id, metadata = metadata,
    ttl = ttl, queued_at = now,
  }
  identify(request, client)
  meta.last_ticket = math.max(meta.last_ticket + 1, now)
  request.ticket = meta.last_ticket
  if at_once then
    take_permits(request)
    hold(id, request)
    return answer_granted(retention_ms, id, request)
  end
  request.state = WAITING
  store(id, request)
  put('queue', request.ticket, id)
  mark_alive(server)
elseif not wait then
  detach(id, request)
  grant_next() -- without this request in the queue, the next waiter may fit
  return answer(retention_ms, 'REFUSED', queue_snapshot())
end
return answer(
  retention_ms, 'WAITING', request.ticket, redis.call('ZRANK', key_of('queue'), id) + 1, queue_snapshot())
