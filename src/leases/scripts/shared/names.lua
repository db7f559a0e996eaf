-- The index of names (layout.lua).
-- @include state.lua

-- The prefix of all keys of the bucket and service, and the name of the script's resource.
local function split_state_key() return string.match(STATE_KEY, '^([^}]*}:%a%d+:)state:(.*)$') end

-- True if the name must be put into the index. The first script in each window of LIST_AGAIN_US puts a name in use into the
-- index again: the index may have been deleted manually, and the index of locks must not expire before the leases.
local function must_list()
  -- The comparison is true if the last script ran in the same window.
  if meta.is_listed and now - stored_seen <= now % LIST_AGAIN_US then return false end
  return meta.limit and (meta.ends + meta.offers + meta.queue + meta.detached > 0 or is_semaphore())
end

-- Puts the name into the index. If the name is new in the index, two random names are checked, and removed if they have
-- neither a state nor a limit. So in the long run at most half of the names in the index are unused.
local function list_name()
  local start, name = split_state_key()
  local names = start .. 'names'
  local is_first = redis.call('ZADD', names, '0', name) == 1
  meta.is_listed = true
  if not is_semaphore() then
    -- No lease lasts longer than LONGEST_US. Semaphores may exist without a lease, so their index does not expire.
    redis.call('PEXPIREAT', names, int(math.floor((now + LONGEST_US + 2 * LIST_AGAIN_US) / 1000)))
  end
  if not is_first then return end
  local limits = string.gsub(start, '%d+:$', ':limit:')
  for _, other in ipairs(redis.call('ZRANDMEMBER', names, '2')) do
    -- The state of this resource may not be stored yet.
    if other ~= name and redis.call('EXISTS', start .. 'state:' .. other, limits .. other) == 0 then
      redis.call('ZREM', names, other)
    end
  end
end

-- @rare
local function unlist_name()
  local start, name = split_state_key()
  redis.call('ZREM', start .. 'names', name)
  meta.is_listed = false
end
