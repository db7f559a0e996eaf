-- The index of a generation: a long sorted sequence of records (byte strings), divided into parts of about PART_SIZE
-- records. Each part is a sorted set that Redis stores in packed form (up to 128 members by default), which needs a fifth
-- of the memory of one large sorted set. `parts` holds the lowest record that each part may hold; the first is empty.
--
-- @include generations.lua

local PART_SIZE = 64

-- The size of a part is checked once per this number of insertions, because a check costs a third of an insertion.
local SIZE_CHECKED = 4

-- `work` counts the reads of the index.
local index = { work = 0 }

-- Selects the index of a generation for all later functions.
local function use_index(generation)
  index.parts, index.part = key_of('parts', generation), key_of('part', generation) .. '\0'
end

local function part_for(record)
  return redis.call('ZREVRANGEBYLEX', index.parts, '[' .. record, '-', 'LIMIT', 0, 1)[1]
end

-- The shortest string above `low` and not above `high`.
local function between(low, high)
  for i = 1, #high do
    if string.byte(low, i) ~= string.byte(high, i) then return string.sub(high, 1, i) end
  end
  return high
end

local function split(part)
  local key = index.part .. part
  local half = math.floor(redis.call('ZCARD', key) / 2)
  local upper = redis.call('ZRANGE', key, half - 1, -1)
  local least = between(upper[1], upper[2])
  local moved = {}
  for i = 2, #upper do
    moved[#moved + 1] = 0
    moved[#moved + 1] = upper[i]
  end
  redis.call('ZREMRANGEBYRANK', key, half, -1)
  redis.call('ZADD', index.part .. least, unpack(moved))
  redis.call('ZADD', index.parts, 0, least)
end

-- The number of insertions by part. A script checks the size of a part only at each SIZE_CHECKED-th insertion. The
-- count starts at a different number in each script. With a fixed start, scripts with few insertions would never check.
local inserted = {}

local function insert_record(record)
  local part = part_for(record)
  if not part then
    part = ''
    redis.call('ZADD', index.parts, 0, part)
  end
  local key = index.part .. part
  redis.call('ZADD', key, 0, record)
  inserted[part] = (inserted[part] or started % SIZE_CHECKED) + 1
  if inserted[part] % SIZE_CHECKED == 0 and redis.call('ZCARD', key) >= PART_SIZE then split(part) end
end

-- Moves the records of a small part to the part before it.
local function shrink(part, size)
  local key = index.part .. part
  local before = redis.call('ZREVRANGEBYLEX', index.parts, '(' .. part, '-', 'LIMIT', 0, 1)[1]
  if size > 0 then
    local target = index.part .. before
    if redis.call('ZCARD', target) + size > PART_SIZE * 3 / 4 then return end
    local moved = {}
    for _, record in ipairs(redis.call('ZRANGE', key, 0, -1)) do
      moved[#moved + 1] = 0
      moved[#moved + 1] = record
    end
    redis.call('ZADD', target, unpack(moved))
    redis.call('UNLINK', key)
  end
  redis.call('ZREM', index.parts, part)
end

local function remove_record(record)
  local part = part_for(record)
  if not part then return end
  local key = index.part .. part
  if redis.call('ZREM', key, record) == 0 or part == '' then return end
  local size = redis.call('ZCARD', key)
  if size < PART_SIZE / 4 then shrink(part, size) end
end

-- Reads the records from `from` (inclusive) to `to` (exclusive). Each call returns the next records, or nil at the end:
-- first a batch, later a part at a time.
local function reader(from, to, batch)
  local part = part_for(from) or ''
  local low = '[' .. from
  local over = false
  return function()
    while not over do
      local found = redis.call('ZRANGEBYLEX', index.part .. part, low, '(' .. to, 'LIMIT', 0, batch)
      index.work = index.work + #found + 8
      if #found == batch then
        low, batch = '(' .. found[batch], 2 * PART_SIZE
        return found
      end
      part = redis.call('ZRANGEBYLEX', index.parts, '(' .. part, '(' .. to, 'LIMIT', 0, 1)[1]
      over = part == nil
      low = '-'
      if #found > 0 then return found end
    end
  end
end

-- The number of parts between two records. Parts are mostly at least half full.
local function parts_between(from, to)
  index.work = index.work + 4
  return redis.call('ZLEXCOUNT', index.parts, '(' .. from, '(' .. to)
end
