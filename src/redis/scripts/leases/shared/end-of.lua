-- @include state.lua
-- @include record.lua

-- The end of a lease (us), never more than the lease's ttl from now, even if Redis's clock was set back.
local function end_of(id)
  local time = known_ends[id] or tonumber(redis.call('ZSCORE', ENDS_KEY, id)) or now
  local request = records[id]
  return request and request.ttl and math.min(time, now + request.ttl) or time
end
