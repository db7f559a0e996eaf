-- @include leases.lua
-- @include record.lua

-- The end of the script's own lease (us), never more than the lease's ttl from now, even if Redis's clock was set back.
local function end_of(id)
  local request = records[id]
  return math.min(stored_end(id), now + request.ttl)
end
