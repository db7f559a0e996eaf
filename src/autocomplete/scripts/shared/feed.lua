-- @include dictionary.lua
-- @include generation.lua

-- The feed of a generation is a list of its last writes in the order of their versions. The last element has the version
-- of the dictionary, so an element is found by arithmetic. An element is two values in msgpack, one after the other:
--   { tail before the write, id of the write, time (us), kind }
--   the changes: kind 'p' { id, record, id, record, ... }, 'd' { id, id, ... }, 's' { id, number of all selections },
--   'b' { number of staged chunks, their bytes } (each chunk is like the changes of 'p'), 'c' {} (creation or commit)
-- The feed has at most 4 MiB with its staged chunks and `done`, apart from the last element. Beyond a quarter of the
-- dictionary's bytes, writes and sweeps keep only the elements of the last 61 s. Elements that an open import has not followed yet are always kept:
-- a write to a full feed waits until the import has followed (commit.lua).
--

local MOST_FEED_BYTES = 4194304
-- The feed of a small dictionary keeps this number of bytes, because a reload of the dictionary would not be cheaper.
local LEAST_FEED_BYTES = 65536
-- The memory of an element apart from its bytes: its effect in `done`, and Redis's own data.
local ELEMENT_BYTES = 100
-- The most elements that a script removes.
local TRIM_BATCH = 64

-- The first version that some open import must still follow.
local function pinned_version()
  local fields, lowest = redis.call('HGETALL', KEYS[1]), math.huge
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 7) == 'import:' then
      local followed = redis.call('HGET', key_head .. 'state:' .. fields[i + 1], 'followed')
      lowest = math.min(lowest, tonumber(followed or 0) + 1)
    end
  end
  return lowest
end

-- Removes a staged put. `from` is the number of its first chunk.
local function remove_chunks(id, count)
  local keys = {}
  for n = 0, count - 1 do keys[n + 1] = key_head .. 'stage:' .. id .. ':' .. n end
  redis.call('UNLINK', unpack(keys))
end

-- Removes the oldest element from the feed.
local function remove_first(of, element, header, at)
  redis.call('LPOP', key_head .. 'feed:' .. of.id)
  redis.call('HDEL', key_head .. 'done:' .. of.id, header[2])
  of.feed = of.feed - #element - ELEMENT_BYTES
  if header[4] ~= 'b' then return end
  local _, staged = cmsgpack.unpack_one(element, at)
  remove_chunks(header[2], staged[1])
  of.feed = of.feed - staged[2]
  of.staged = of.staged - 1
end

-- Trims the feed of the live generation. Returns true if the feed has room for a write, and true if no element is left to
-- trim now.
local function trim_feed(of)
  local bound = math.max(LEAST_FEED_BYTES, math.min(MOST_FEED_BYTES, math.floor(of.bytes / 4)))
  if of.feed <= bound then return true, true end
  local key, length, pinned, trimmed, count = key_head .. 'feed:' .. of.id, nil, nil, nil, 0
  while count < TRIM_BATCH and of.feed > bound do
    local element = redis.call('LINDEX', key, 0)
    local at, header = cmsgpack.unpack_one(element)
    local is_full = of.feed > MOST_FEED_BYTES
    if not is_full and math.abs(now - header[3]) < KEPT_US then break end
    length = length or redis.call('LLEN', key)
    pinned = pinned or pinned_version()
    if length == 1 or version - length + 1 >= pinned then break end
    remove_first(of, element, header, at)
    trimmed = header[3]
    length, count = length - 1, count + 1
  end
  if trimmed then redis.call('HSET', key_head .. 'state:' .. of.id, 'trimmed', int(trimmed)) end
  return of.feed <= MOST_FEED_BYTES or length == 1 and version < pinned, count < TRIM_BATCH
end

-- Adds a write as the next version. The caller saves the generation.
local function add_write(of, id, kind, changes, effect)
  local element = cmsgpack.pack({ tail, id, now, kind }) .. changes
  redis.call('RPUSH', key_head .. 'feed:' .. of.id, element)
  redis.call('HSET', key_head .. 'done:' .. of.id, id, effect)
  version = version + 1
  tail = tail_after(tail, id)
  redis.call('HSET', KEYS[1], 'version', int(version), 'tail', tail)
  of.feed = of.feed + #element + ELEMENT_BYTES
  trim_feed(of)
end

-- Applies the writes of the live generation to a generation that is built. After the last write, the built generation has
-- the same puts, deletions and selections as the live generation since the start of the import.
--

-- A step ends with the write or the chunk that reaches one of these bounds: values of changes, and bytes.
local FOLLOWED_VALUES = 128
local FOLLOWED_BYTES = 65536

local function follow_change(build, pins, source, kind, changes)
  if kind == 's' then
    local id = changes[1]
    if redis.call('HEXISTS', bucket_of(build, id), id) == 1 then set_selections(build, id, int(changes[2])) end
  elseif kind == 'd' then
    for _, id in ipairs(changes) do
      delete_entry(build, id)
      put_entry(pins, id, '')
    end
  else
    for i = 1, #changes, 2 do
      local id = changes[i]
      put_entry(build, id, changes[i + 1])
      -- Later selections, which the count already contains, follow with their own counts.
      set_selections(build, id, selections_of(source, id))
      put_entry(pins, id, '')
    end
  end
end

-- Returns OK (the built generation has every write), AGAIN (writes are left) or LOST (the feed lacks a write).
local function follow(build)
  local state = key_head .. 'state:' .. build.id
  local numbers = redis.call('HMGET', state, 'source', 'followed', 'at', 'chunks')
  local source_id, followed, at, chunks = numbers[1], tonumber(numbers[2]), numbers[3], tonumber(numbers[4])
  if not live then return source_id == '' and 'OK' or 'LOST' end
  if source_id ~= '' and source_id ~= live then return 'LOST' end
  local feed = key_head .. 'feed:' .. live
  if version < followed or version - followed > redis.call('LLEN', feed) then return 'LOST' end
  local source, pins = open_generation(live), open_generation(build.id .. ':pins')
  local values, bytes, is_lost = 0, 0, false
  while followed < version and values < FOLLOWED_VALUES and bytes < FOLLOWED_BYTES do
    local element = redis.call('LINDEX', feed, followed - version)
    local next_value, header = cmsgpack.unpack_one(element)
    is_lost = header[1] ~= at
    if is_lost then break end
    local _, changes = cmsgpack.unpack_one(element, next_value)
    local is_whole = true
    bytes = bytes + #element
    if header[4] == 'b' then
      local chunk = redis.call('GET', key_head .. 'stage:' .. header[2] .. ':' .. chunks)
      is_lost = not chunk
      if is_lost then break end
      chunks = chunks + 1
      is_whole = chunks == changes[1]
      changes = cmsgpack.unpack(chunk)
      bytes = bytes + #chunk
    end
    follow_change(build, pins, source, header[4], changes)
    values = values + #changes + 1
    if is_whole then followed, at, chunks = followed + 1, tail_after(at, header[2]), 0 end
  end
  redis.call('HSET', state, 'source', live, 'followed', int(followed), 'at', at, 'chunks', int(chunks))
  save_generation(build)
  if pins.count > 0 then save_generation(pins) end
  if is_lost then return 'LOST' end
  if followed < version then return 'AGAIN' end
  return at == tail and 'OK' or 'LOST'
end
