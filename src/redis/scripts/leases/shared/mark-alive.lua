-- @include state.lua

-- @rare
local function mark_alive(server)
  if redis.call('ZADD', key_of('live'), NOW_TEXT, server) == 1 then expiring.live = true end
end
