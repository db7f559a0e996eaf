-- The index of a generation: one long sorted sequence of records (byte strings), cut into parts of little more than
-- PART_SIZE at most, each a sorted set small enough for Redis to keep it packed (up to 128, unless it is told
-- otherwise): a fifth of the memory of one large set. `parts` has for each the least record that it may hold; the first
-- one's is empty.
--
-- @include generations.lua

local PART_SIZE = 64

-- A part's size is looked at after one of its records in so many: asking costs a third of the insertion.
local SIZE_CHECKED = 4

-- `work` counts what was read of it.
local index = { work = 0 }

-- Says which generation's index is meant from here on.
local function use_index(generation)
  index.parts, index.part = key_of('parts', generation), key_of('part', generation) .. '\0'
end

local function part_for(record)
  return redis.call('ZREVRANGEBYLEX', index.parts, '[' .. record, '-', 'LIMIT', 0, 1)[1]
end

-- The shortest string that is greater than `low` and not greater than `high`.
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

-- How many each part was given, from a beginning that differs: many entries in a row may have the same records.
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

-- What is left of a part that has become small goes to the one before it.
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

-- The records from `from` (inclusive) to `to` (exclusive), a batch at a time, and later ones a part at a time: each call
-- returns the next ones, at least one, or nil at the end.
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

-- About how many records there are in between: parts, which are half full at least as a rule.
local function parts_between(from, to)
  index.work = index.work + 4
  return redis.call('ZLEXCOUNT', index.parts, '(' .. from, '(' .. to)
end
