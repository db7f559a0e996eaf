-- @include write.lua

local function mark_alive(server)
  put(LIVE_KEY, now, server)
  touched_keys[QUEUE_KEY] = true -- a request may wait longer than an idle resource is kept
end
