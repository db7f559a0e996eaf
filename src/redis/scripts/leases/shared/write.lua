-- Writes to the resource.
-- @include state.lua

local function store(id, request)
  records[id] = request
  unsaved[id] = true
end

-- Adds a request to a sorted set. `part` is the set, and its count in `meta`: 'offers', 'queue' or 'detached'. If the count
-- is 0, all members of the set are left over, because STATE_KEY was deleted manually. The expiry of `live` is not moved
-- while no request waits.
-- @rare
local function put(part, score, id)
  if meta[part] == 0 then
    redis.call('UNLINK', key_of(part))
    expiring.live = true
  end
  local added = redis.call('ZADD', key_of(part), int(score), id)
  meta[part] = meta[part] + added
  if added == 1 then is_shown_changed = true end
  expiring[part] = true
end

-- As `put`, for a sorted set with a lower bound in `meta`: 'offers' or 'detached'.
-- @rare
local function put_due(part, time, id)
  put(part, time, id)
  local bound = part .. '_due'
  meta[bound] = math.min(meta[bound], time)
end

-- Counts a sorted set again, because members may have been deleted manually.
-- @rare
local function count_again(part)
  if meta[part] > 0 then meta[part] = redis.call('ZCARD', key_of(part)) end
end

-- @rare
local function remove(part, id)
  if meta[part] > 0 then meta[part] = meta[part] - redis.call('ZREM', key_of(part), id) end
  if part ~= 'detached' then is_shown_changed = true end
end

-- Removes the records of requests that have left their place.
-- @rare
local function forget(ids)
  if #ids == 0 then return end
  local fields = {}
  for i, id in ipairs(ids) do
    fields[i] = 'r' .. id
    records[id], unsaved[id] = nil, nil
  end
  redis.call('HDEL', STATE_KEY, unpack(fields))
end
