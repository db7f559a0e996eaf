-- @include lease-end.lua
-- @include record.lua

-- OFFERED or new -> HELD by the call `attach`, which is answered with the lease.
local function hold(id, request, attach)
  if request.state == OFFERED then redis.call('ZREM', OFFERS_KEY, id) end
  request.state, request.attach, request.answered, request.returnable, request.granted_at = HELD, attach, attach, 1, now
  set_end(id, now + request.ttl)
  store(id, request)
end
