-- Writes to the resource.
-- @include state.lua

local function store(id, request)
  records[id] = request
  unsaved[id] = true
end

local function put(key, score, member)
  redis.call('ZADD', key, int(score), member)
  touched_keys[key] = true
end

-- As `put`, for a sorted set with a lower bound in `meta`. `name` is the bound: 'offers', 'detached' or 'ended'.
local function put_due(key, name, time, member)
  put(key, time, member)
  meta[name] = math.min(meta[name], time)
end

local function forget(key, ids)
  if #ids == 0 then return end
  local fields = {}
  for i, id in ipairs(ids) do
    fields[i] = 'r' .. id
    records[id], unsaved[id] = nil, nil
  end
  redis.call('HDEL', STATE_KEY, unpack(fields))
  redis.call('ZREM', key, unpack(ids))
end
