-- @include walk-queue.lua

-- Walks the queue if a server is dead or if waiters that never fit are being removed. Returns true after a full walk,
-- which forgets the dead server.
-- @rare
local function clean_queue()
  local dead = redis.call('ZRANGEBYSCORE', key_of('live'), '-inf', int(now - KEEP_PLACE_US), 'LIMIT', '0', '1')[1]
  if dead and not is_silent(dead) then dead = nil end
  if not dead and not change.misfits then
    meta.cursor = 0 -- the next walk begins at the head
    return false
  end
  if not walk_queue() then return false end
  if dead then redis.call('ZREM', key_of('live'), dead) end
  return true
end
