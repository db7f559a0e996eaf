-- Applies the writes of the live generation to a generation that is built. After the last write, the built generation has
-- the same puts, deletions and selections as the live generation since the start of the import.
--
-- @include generation.lua
-- @include tail.lua

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
