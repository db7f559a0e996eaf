-- @include dictionary.lua

-- The entries of a generation are spread over buckets by linear hashing. A bucket is a hash: entry id -> record, and
-- "\1" .. entry id -> number of selections, which only selected entries have. No entry id has the character "\1".
--
-- `state` of a generation:
--   count, bytes     number of entries, and the bytes of their ids and records
--   buckets          number of buckets; it never falls
--   selected         number of entries with selections
--   feed, staged     memory of the feed (see feed.lua), and number of its puts with staged chunks
--   trimmed          the time of the last write that left the feed (us)
--   ended, end_tail  for a replaced generation: its last version and tail
--

-- The mean number of entries of a bucket, and the mean bytes. See docs/design/decisions/021-entries-in-hash-buckets.md.
local BUCKET_ENTRIES = 50
local BUCKET_BYTES = 8192

local SELECTIONS = '\1'

local saved_numbers = { 'count', 'bytes', 'buckets', 'selected', 'feed', 'staged' }

local function open_generation(id)
  local stored = redis.call('HMGET', key_head .. 'state:' .. id, unpack(saved_numbers))
  local of = { id = id, head = key_head .. 'e:' .. id .. ':', level = 1, stored = stored }
  of.count, of.bytes = tonumber(stored[1] or 0), tonumber(stored[2] or 0)
  of.buckets, of.selected = tonumber(stored[3] or 1), tonumber(stored[4] or 0)
  of.feed, of.staged = tonumber(stored[5] or 0), tonumber(stored[6] or 0)
  -- The largest power of two that is not greater than the number of buckets.
  while of.level * 2 <= of.buckets do of.level = of.level * 2 end
  return of
end

-- Opens the live generation. Without `state`, a write would begin an empty state beside the entries.
local function open_live()
  local of = open_generation(live)
  if not of.stored[3] then damaged('the state of a dictionary') end
  return of
end

-- Writes the numbers that have changed.
local function save_generation(of)
  local changed = {}
  for i, name in ipairs(saved_numbers) do
    if of[name] ~= tonumber(of.stored[i]) then
      changed[#changed + 1] = name
      changed[#changed + 1] = int(of[name])
      of.stored[i] = of[name]
    end
  end
  if #changed > 0 then redis.call('HSET', key_head .. 'state:' .. of.id, unpack(changed)) end
end

local function hash_of(of, id) return tonumber(string.sub(redis.sha1hex(of.id .. id), 1, 8), 16) end

local function bucket_of(of, id)
  local number = hash_of(of, id) % (2 * of.level)
  if number >= of.buckets then number = number - of.level end
  return of.head .. number
end

-- Moves about half of the entries of the next bucket in turn to a new bucket.
local function split_bucket(of)
  local from, to = of.head .. (of.buckets - of.level), of.head .. of.buckets
  local fields, moved, names = redis.call('HGETALL', from), {}, {}
  for i = 1, #fields, 2 do
    local field = fields[i]
    local id = string.byte(field) == 1 and string.sub(field, 2) or field
    if hash_of(of, id) % (2 * of.level) == of.buckets then
      names[#names + 1] = field
      moved[#moved + 1], moved[#moved + 2] = field, fields[i + 1]
    end
  end
  if #names > 0 then
    redis.call('HSET', to, unpack(moved))
    redis.call('HDEL', from, unpack(names))
  end
  of.buckets = of.buckets + 1
  if of.buckets == 2 * of.level then of.level = of.buckets end
end

-- Keeps the selections of the entry.
local function put_entry(of, id, record)
  local bucket = bucket_of(of, id)
  of.bytes = of.bytes + #record
  if redis.call('HSETNX', bucket, id, record) == 1 then
    of.count = of.count + 1
    of.bytes = of.bytes + #id
  else
    of.bytes = of.bytes - redis.call('HSTRLEN', bucket, id)
    redis.call('HSET', bucket, id, record)
  end
  while of.count > of.buckets * BUCKET_ENTRIES or of.bytes > of.buckets * BUCKET_BYTES do split_bucket(of) end
end

-- Returns 1, or 0 without such an entry.
local function delete_entry(of, id)
  local bucket = bucket_of(of, id)
  local before = redis.call('HSTRLEN', bucket, id)
  if before == 0 then return 0 end
  of.selected = of.selected + 1 - redis.call('HDEL', bucket, id, SELECTIONS .. id)
  of.count = of.count - 1
  of.bytes = of.bytes - before - #id
  return 1
end

-- Returns false without selections.
local function selections_of(of, id)
  if of.selected == 0 then return false end
  return redis.call('HGET', bucket_of(of, id), SELECTIONS .. id)
end

-- False: no selections.
local function set_selections(of, id, count)
  if count then
    of.selected = of.selected + redis.call('HSET', bucket_of(of, id), SELECTIONS .. id, count)
  elseif of.selected > 0 then
    of.selected = of.selected - redis.call('HDEL', bucket_of(of, id), SELECTIONS .. id)
  end
end

-- A put of several chunks is committed when its element joins the feed. Then the chunks are written to the buckets, one in
-- each step. `pending` of meta is: id of the put, number of chunks, next chunk, tail before the put. The chunks last until the
-- element leaves the feed, which is after the last step, because other writes wait for the put.
--

-- Writes one chunk of the pending put to the buckets. Must precede all changes of the script, because it may end the script.
local function write_pending(of)
  local id, count, next_chunk, before = unpack(cmsgpack.unpack(pending))
  local chunk = redis.call('GET', key_head .. 'stage:' .. id .. ':' .. next_chunk)
  if not chunk then damaged('a chunk of a committed put') end
  local changes = cmsgpack.unpack(chunk)
  for i = 1, #changes, 2 do put_entry(of, changes[i], changes[i + 1]) end
  next_chunk = next_chunk + 1
  pending = next_chunk < count and cmsgpack.pack({ id, count, next_chunk, before })
  if pending then
    redis.call('HSET', KEYS[1], 'pending', pending)
  else
    redis.call('HDEL', KEYS[1], 'pending')
  end
end
