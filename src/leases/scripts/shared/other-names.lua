-- For operations that look at several names of a bucket's index, one after the other. Their key is not the state of a
-- resource, but the index of names.
-- @include state.lua

local index_key, state_start, has_semaphores = '', '', false

local function open_index()
  index_key, state_start, has_semaphores = STATE_KEY, string.gsub(STATE_KEY, 'names$', 'state:'), is_semaphore()
end

-- Reads the head of the resource with this name. All functions work on this resource from here on.
local function select_name(name)
  STATE_KEY, key_start = state_start .. name, nil
  meta = empty_meta()
  lease_ids, lease_ends, records = {}, {}, {}
  local head = redis.call('HGET', STATE_KEY, 'h')
  read_head(head)
  if meta.limit == nil and has_semaphores then meta.limit = tonumber(redis.call('GET', limit_key())) end
  return head
end

-- True if the selected name may leave the index. A lock stays for a minute after its last use, so that a lock that is used all
-- the time does not leave the index and return with each use.
local function is_unused()
  if has_semaphores then return meta.limit == nil end
  return meta.offers + meta.queue + meta.detached == 0 and meta.till <= now - clock_shift - REMEMBER_US
end
