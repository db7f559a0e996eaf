-- @include state.lua

-- Finds the limit, or creates the resource with `initial_limit`. Returns false if the resource does not exist.
local function find_or_create(initial_limit)
  if meta.limit == nil then
    local limit = is_semaphore() and tonumber(redis.call('GET', limit_key()))
    is_new = limit == nil
    meta.limit = limit or initial_limit
  end
  return meta.limit ~= nil
end
