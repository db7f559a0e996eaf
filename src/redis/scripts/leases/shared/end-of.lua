-- @include state.lua
-- @include record.lua

-- The end of the script's own lease (us), never more than the lease's ttl from now, even if Redis's clock was set back.
local function end_of(id)
  local request = records[id]
  return math.min(known_ends[id] or tonumber(redis.call('ZSCORE', ENDS_KEY, id)), now + request.ttl)
end
