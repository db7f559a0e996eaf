-- Sets and removes the end of a held lease.
-- @include write.lua

local function set_end(id, time)
  put(ENDS_KEY, time, id)
  known_ends[id] = time
  meta.till = math.max(meta.till, time)
end

local function remove_end(id)
  redis.call('ZREM', ENDS_KEY, id)
  known_ends[id] = nil
end
