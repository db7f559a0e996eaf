#!lua
-- Acquires permits, or queues the request, or refuses it. A repeated request id gets the same lease or the same place.
--
-- KEYS   the resource's keys (shared/layout.lua)
-- Args   id: request id  attach  secret: of a new lease  permits  mode  holder_id  metadata  ttl (us)
--        client: its request id and identity ("": no identity)  wait: 1 to queue, 0 to try once
--        take_over: 1 to take over a held lease, for a stream or a session, else 0
--        initial_limit: of a new resource ("": the resource must exist)  max_waiters
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
local id, attach, secret, permits, mode, holder_id, metadata, ttl, client, wait, take_over, initial_limit, max_waiters = ...
permits, ttl, wait, take_over = tonumber(permits), tonumber(ttl), wait == '1', take_over == '1'
initial_limit, max_waiters = tonumber(initial_limit), tonumber(max_waiters)

local refusal = epoch_check()
if refusal then return refusal end
begin(id)
purge()
-- A request that does not wait must not be refused because of expired leases that are not purged yet.
if is_unfinished() or (more and not wait) then return answer('AGAIN') end
local request = records[id]
if request and request.state == ENDED then
  if request.attach ~= attach and request.fencing_token then
    request.fencing_token, request.ticket = nil, nil -- a second call learns of the end, so no call may give the lease back
    store(id, request)
  end
  return answer_finished(request)
end
if not find_or_create(initial_limit) then return answer('UNKNOWN') end

if request and (request.permits ~= permits or request.mode ~= mode or request.holder_id ~= holder_id) then
  local field = request.holder_id ~= holder_id and 'holder_id' or request.mode ~= mode and 'mode' or 'permit_count'
  return answer('MISMATCH', field)
end

if request and take_over and is_after(request.attach, attach) then
  grant_next()
  return answer('SUPERSEDED')
end
if request and request.revoked then
  grant_next()
  return answer_revoked(request, attach)
end
if request and request.state == HELD then
  if request.attach ~= attach then
    if take_over then
      if is_holding(request.attach) and server_of(request.attach) ~= calling_server then send_hint(request.attach, id) end
      request.attach, request.answered, request.returnable = attach, attach, 0
      request.ttl = math.max(request.ttl, ttl)
      set_end(id, math.max(end_of(id), now + ttl))
    else
      request.answered = '' -- a second call is answered with the lease, so no call may give the lease back
    end
    store(id, request)
  end
  grant_next()
  return answer_granted(id, request)
end

if never_fits(permits) then
  if request then dismiss(id, request) end
  grant_next()
  return answer_never_fits()
end

if request then
  if request.attach ~= attach and server_of(request.attach) ~= calling_server then send_hint(request.attach, id) end
  if request.metadata ~= metadata then is_shown_changed = true end
  request.attach, request.ttl, request.metadata = attach, ttl, metadata
  if request.state ~= OFFERED then
    if request.state == DETACHED then remove('detached', id) end
    put('queue', request.ticket, id)
    request.state = WAITING
    store(id, request)
    mark_alive(calling_server)
  end
end
local is_queue_empty = grant_next()
if request and request.state == OFFERED then hold(id, request) end
if request and request.state == HELD then return answer_granted(id, request) end

if not request then
  local at_once = is_queue_empty and fits(permits)
  if not at_once and not wait then return answer('REFUSED', queue_snapshot()) end
  local place_count = at_once and 0 or meta.queue + meta.detached
  if place_count >= max_waiters then
    if clean_queue() then grant_next() end -- the walk frees the places of dead servers' waiters
    count_again('queue')
    count_again('detached')
    return answer('QUEUE_FULL', place_count)
  end
  remove_old_tombstone(id)
  meta.last_ticket = math.max(meta.last_ticket + 1, now)
  request = {
    attach = attach, secret = secret, permits = permits, mode = mode, holder_id = holder_id, metadata = metadata,
    ttl = ttl, ticket = meta.last_ticket, queued_at = meta.last_ticket,
  }
  identify(request, client)
  if at_once then
    take_permits(request)
    hold(id, request)
    return answer_granted(id, request)
  end
  request.state = WAITING
  store(id, request)
  put('queue', request.ticket, id)
  mark_alive(calling_server)
elseif not wait then
  detach(id, request)
  grant_next() -- without this request in the queue, the next waiter may fit
  return answer('REFUSED', queue_snapshot())
end
return answer('WAITING', request.ticket, redis.call('ZRANK', key_of('queue'), id) + 1, queue_snapshot())
