-- @include state.lua

-- Finds the limit, or creates the resource with `initial_limit`; false if there is none. If the state is missing, the
-- other keys are remains: of a state that was deleted manually, or of a resource that was idle so long that only the
-- limit is left.
local function find_or_create(initial_limit)
  if meta.limit == nil then
    local limit = LIMIT_KEY and tonumber(redis.call('GET', LIMIT_KEY))
    is_new = limit == nil
    meta.limit = limit or initial_limit
    if had_change then
      touched_keys[ENDED_KEY] = true -- the tombstones of the deleted semaphore stay; they were to expire with it
    elseif meta.limit ~= nil then
      redis.call('UNLINK', unpack(KEYS, 2, 7))
      meta.offers, meta.detached, meta.ended = NEVER, NEVER, NEVER
    end
  end
  return meta.limit ~= nil
end
