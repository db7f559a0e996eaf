-- Tombstones. The head has the newest tombstones, at most MOST_INLINE. Older tombstones move to `past1` or `past2`
-- (layout.lua). After REMEMBER_US or MOST_PAST tombstones in one hash, the other hash is emptied and takes the next
-- tombstones.
-- @include write.lua

-- @rare
local function is_past_full()
  return meta.past_count >= MOST_PAST or math.abs(now - meta.past_since) > REMEMBER_US
end

-- Moves the tombstones with these ids, which have left the head, to a `past` hash.
-- @rare
local function move_to_past(ids, times)
  if is_past_full() then
    meta.past_number, meta.past_since, meta.past_count = meta.past_number == 1 and 2 or 1, now, 0
    redis.call('UNLINK', key_of('past' .. meta.past_number))
  end
  local fields, moved = {}, {}
  for i, id in ipairs(ids) do fields[i] = 'r' .. id end
  local stored = redis.call('HMGET', STATE_KEY, unpack(fields))
  for i, id in ipairs(ids) do
    local packed = unsaved[id] and cmsgpack.pack(records[id]) or stored[i]
    if packed then moved[#moved + 1], moved[#moved + 2] = id, struct.pack(PAST_TIME, times[i]) .. packed end
    unsaved[id] = nil
  end
  redis.call('HDEL', STATE_KEY, unpack(fields))
  if #moved == 0 then return end
  local key = key_of('past' .. meta.past_number)
  redis.call('HSET', key, unpack(moved))
  redis.call('PEXPIREAT', key, int(math.floor((now + 2 * REMEMBER_US) / 1000)))
  meta.past_count = meta.past_count + #moved / 2
end

-- Adds a tombstone. The caller stores its record.
local function add_tombstone(id)
  tombs = tombs .. struct.pack(ELEMENT, now + REMEMBER_US, #id, id)
end

-- Takes the first tombstones from the head, as long as `is_taken` is true, and returns their ids and times.
-- @rare
local function take_tombstones(is_taken)
  local ids, times, at, rest = {}, {}, 1, 1
  while at <= #tombs do
    local time, id
    time, id, at = struct.unpack(ELEMENT, tombs, at)
    if not is_taken(#ids, time) then break end
    ids[#ids + 1], times[#times + 1], rest = id, time, at
  end
  tombs = string.sub(tombs, rest)
  return ids, times
end

-- Moves a batch of tombstones if the head has too many. Only `answer` calls this function, so a script that ends many
-- leases moves their tombstones together.
local function shrink_head()
  local excess = #tombs - MOST_INLINE * ELEMENT_BYTES
  if excess <= 0 then return end
  local count = excess / ELEMENT_BYTES + FEW_INLINE
  move_to_past(take_tombstones(function(taken) return taken < count end))
end

-- After a step back of Redis's clock, no tombstone is kept longer than a new one.
-- @rare
local function advance_tombstones()
  local ids = take_tombstones(function() return true end)
  for _, id in ipairs(ids) do add_tombstone(id) end
end

-- Forgets the tombstones that are due.
-- @rare
local function forget_tombstones()
  forget((take_tombstones(function(_, time) return time <= now end)))
end

-- Forgets the tombstone of a request.
-- @rare
local function remove_tombstone(id)
  if past_times[id] then redis.call('HDEL', key_of('past' .. past_numbers[id]), id) end
  local _, last = string.find(tombs, id, 1, true)
  if last then tombs = string.sub(tombs, 1, last - ELEMENT_BYTES) .. string.sub(tombs, last + 1) end
  forget({ id })
end

-- Removes an old tombstone with the id of a new request: when due, the tombstone would remove the record of the new
-- request. Such a tombstone exists only if its record was deleted manually.
local function remove_old_tombstone(id)
  if tombs ~= '' and string.find(tombs, id, 1, true) then remove_tombstone(id) end
end
