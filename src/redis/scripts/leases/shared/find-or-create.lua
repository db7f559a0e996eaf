-- @include state.lua

-- Finds the limit, or creates the resource with `initial_limit`. Returns false if the resource does not exist. If
-- STATE_KEY is missing, the other keys are remains: the state was deleted manually, or expired while the limit stays.
local function find_or_create(initial_limit)
  if meta.limit == nil then
    local limit = LIMIT_KEY and tonumber(redis.call('GET', LIMIT_KEY))
    is_new = limit == nil
    meta.limit = limit or initial_limit
    if had_change then
      touched_keys[ENDED_KEY] = true -- the deleted semaphore's tombstones must last longer than its state
    elseif meta.limit ~= nil then
      redis.call('UNLINK', unpack(KEYS, 2, 7))
      meta.offers, meta.detached, meta.ended = NEVER, NEVER, NEVER
    end
  end
  return meta.limit ~= nil
end
