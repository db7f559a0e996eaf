-- The steps of a request from one state to another that every script needs.
-- @include leases.lua
-- @include past.lua
-- @include record.lua

-- The record of a member of a place, if the record has the state of this place. The state differs if the record was deleted
-- manually and a repeated request has stored it again.
-- @rare
local function load_in(state, id)
  local request = load(id)
  return request and request.state == state and request
end

-- WAITING or DETACHED -> DETACHED: `grant_next` skips the request, and the ticket is kept for the same request id.
-- @rare
local function detach(id, request)
  if request.state == WAITING then remove('queue', id) end
  put_due('detached', now + KEEP_PLACE_US, id)
  request.state, request.extended = DETACHED, nil
  store(id, request)
end

-- OFFERED, or HELD and reported to no client -> DETACHED with its own ticket. The fencing token is not used again.
-- @rare
local function take_back(id, request)
  if request.state == OFFERED then remove('offers', id) else remove_end(id) end
  meta.used = meta.used - request.permits
  detach(id, request)
end

-- HELD -> ENDED: a tombstone remembers the cause. The tombstone has a token and a ticket if only one call was answered with
-- the lease. This call may not have received the answer, and then gives the lease back (permits-withdraw.lua). The request
-- of a revoked lease has finished in any case.
local function end_lease(id, request, cause)
  remove_end(id)
  meta.used = meta.used - request.permits
  if request.revoked and cause ~= 'released' then cause = 'revoked' end
  local is_returnable = cause ~= 'released' and not request.revoked and request.returnable >= 1
    and request.answered == request.attach
  store(id, {
    state = ENDED, cause = cause, attach = request.attach, secret = request.secret, identity = request.identity,
    fencing_token = is_returnable and request.fencing_token or nil, ticket = is_returnable and request.ticket or nil,
  })
  add_tombstone(id)
end
