-- @include leases.lua
-- @include record.lua
-- @include write.lua

-- OFFERED, WAITING or new -> HELD. The call that speaks for the request is answered with the lease.
local function hold(id, request)
  if request.state == OFFERED then remove('offers', id) end
  request.state, request.answered, request.returnable, request.granted_at = HELD, request.attach, 1, now
  set_end(id, now + request.ttl)
  is_shown_changed = true
  store(id, request)
end
