-- The steps of a request from one state to another that every script needs.
-- @include lease-end.lua
-- @include record.lua

-- WAITING or DETACHED -> DETACHED: `grant_next` skips the request, and the ticket is kept for the same request id.
local function detach(id, request)
  redis.call('ZREM', QUEUE_KEY, id)
  put_due(DETACHED_KEY, 'detached', now + KEEP_PLACE_US, id)
  request.state, request.extended = DETACHED, nil
  store(id, request)
end

-- OFFERED, or HELD and reported to no client -> DETACHED with its own ticket. The fencing token is not used again.
local function take_back(id, request)
  if request.state == OFFERED then redis.call('ZREM', OFFERS_KEY, id) else remove_end(id) end
  meta.used = meta.used - request.permits
  detach(id, request)
end

-- HELD -> ENDED: a tombstone remembers the cause. The tombstone has a token and a ticket if one call alone was answered
-- with the lease. This call may still be without the answer, and then gives the lease back (permits-withdraw.lua).
local function end_lease(id, request, cause)
  remove_end(id)
  meta.used = meta.used - request.permits
  local is_returnable = cause ~= 'released' and request.returnable >= 1 and request.answered == request.attach
  store(id, {
    state = ENDED, cause = cause, attach = request.attach, secret = request.secret,
    fencing_token = is_returnable and request.fencing_token or nil, ticket = is_returnable and request.ticket or nil,
  })
  put_due(ENDED_KEY, 'ended', now + REMEMBER_US, id)
  local excess = redis.call('ZCARD', ENDED_KEY) - MAX_TOMBSTONES
  if excess > 0 then forget(ENDED_KEY, redis.call('ZRANGE', ENDED_KEY, 0, math.min(excess, BATCH) - 1)) end
end
