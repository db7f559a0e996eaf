-- A dictionary, for all scripts of entries. The server gives the texts of entries as packed records, which no script reads.
--
-- KEYS[1] is the dictionary's `meta`, a hash:
--   format       number of this layout
--   profile      accents ('k' kept, 'd' dropped) .. typos ('t', '-')
--   owner        the identity that created the dictionary; absent if the creator had none
--   live         the generation that answers; absent until the first import is committed
--   generation   number of generations that have been live
--   version      number of writes and commits; `tail` names their history (see `tail_after`)
--   pending      a put that is committed, but not in the buckets yet (see generation.lua)
--   previous     the generation before `live`, while it is kept: its `done` answers repeated writes
--   committing   a commit that still follows writes (see commit.lua)
--   committed    the last committed import, so that a repeated commit gets the same answer
--   import:ID    the generation that the import ID builds
--   garbage:G    the time when the keys of the generation G may be removed (us)
-- All other keys have names that begin like KEYS[1], and so are in the same slot:
--   state:G      hash: the numbers of a generation (see generation.lua, and imports.lua for a generation that is built)
--   e:G:N        hash: bucket N of a generation (see generation.lua)
--   feed:G       list: the last writes of a generation (see feed.lua)
--   done:G       hash: the effects of exactly the writes in the feed, by their ids
--   stage:ID:N   string: chunk N of the put with this id, as the argument of entries-put
--   dropped      string: the id of the last deletion of the dictionary, for KEPT_US
-- The pins of an import that builds G are a generation of their own, G:pins, with empty records: the ids that were
-- written since the start of the import, which its batches must not overwrite.
-- The server makes the ids of generations and writes from random bits. No id is used twice.

local FORMAT = 2

-- No command is sent again after this time (us): the longest HOLDFAST_COMMAND_TIMEOUT and a second.
local KEPT_US = 61000000

local function int(number) return string.format('%.0f', number) end

-- Ends the script. Must precede all changes of the script.
local function damaged(lost)
  error(redis.error_reply('DAMAGED Redis has lost ' .. lost .. '. Delete the dictionary, and import it again'))
end

local clock = redis.call('TIME')

local now = clock[1] * 1000000 + clock[2]

local key_head = string.sub(KEYS[1], 1, string.find(KEYS[1], '}:d:meta:', 1, true) + 3)

local meta = redis.call('HMGET', KEYS[1], 'format', 'live', 'version', 'tail', 'pending', 'profile', 'previous', 'committing')

local live, version, tail, pending = meta[2], tonumber(meta[3] or 0), meta[4] or '', meta[5]

if meta[1] and tonumber(meta[1]) ~= FORMAT then return { 'FORMAT', meta[1] } end

-- Called when the dictionary begins to exist. "": the caller has no identity.
local function set_owner(owner)
  if owner == '' then
    redis.call('HDEL', KEYS[1], 'owner')
  else
    redis.call('HSET', KEYS[1], 'owner', owner)
  end
end

-- The first values of a reply about a dictionary: OK, profile, live generation, version, tail. The server reads the same
-- values with HMGET when it needs nothing else.
local function with_head(...) return { 'OK', meta[6], live, int(version), tail, ... } end

-- The tail names a history: it is a digest of all ids of its writes. The id of the last write would not suffice: a write
-- that is repeated after a failover keeps its id, and may then follow other writes.

-- The length of a tail. Digests of 96 bits do not collide in practice.
local TAIL_DIGITS = 24

local function tail_after(before, id) return string.sub(redis.sha1hex(before .. id), 1, TAIL_DIGITS) end

-- Returns version and tail of a generation: the present ones for the live generation, the last ones for a replaced
-- generation. Returns nil if the generation was removed or is being built.
local function end_of_history(generation)
  if generation == live then return version, tail end
  local numbers = redis.call('HMGET', key_head .. 'state:' .. generation, 'ended', 'end_tail', 'removed')
  if numbers[1] and not numbers[3] then return tonumber(numbers[1]), numbers[2] end
end

-- Returns version and tail of the last write that is completely in the buckets of the live generation.
local function end_of_buckets()
  if not pending then return version, tail end
  return version - 1, cmsgpack.unpack(pending)[4]
end

-- A read ends after the bucket that reaches one of these bounds.
local MOST_FIELDS = 1100
local MOST_BYTES = 262144

-- Reads the buckets of a generation from `bucket` on. Returns the number of buckets, the next bucket, and each bucket as
-- { field, value, field, value, ... } in msgpack, one after the other.
local function read_buckets(generation, bucket, buckets)
  local head, packed, fields, bytes = key_head .. 'e:' .. generation .. ':', {}, 0, 0
  while bucket < buckets and fields < MOST_FIELDS and bytes < MOST_BYTES do
    local content = redis.call('HGETALL', head .. bucket)
    local one = cmsgpack.pack(content)
    packed[#packed + 1] = one
    fields = fields + #content / 2 + 1
    bytes = bytes + #one
    bucket = bucket + 1
  end
  return int(buckets), int(bucket), table.concat(packed)
end
