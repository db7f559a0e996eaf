-- A dictionary, for all scripts of entries. The server gives the texts of entries as packed records, which no script reads.
--
-- KEYS[1] is the dictionary's `meta`, a hash:
--   format       number of this layout
--   profile      accents ('k' kept, 'd' dropped) .. typos ('t', '-')
--   owner        the identity that created the dictionary; absent if the creator had none
--   live         the generation that answers; absent until the first import is committed
--   generation   number of generations that have been live
--   version      number of writes and commits; `tail` names their history (see tail.lua)
--   pending      a put that is committed, but not in the buckets yet (see pending.lua)
--   previous     the generation before `live`, while it is kept: its `done` answers repeated writes
--   committing   a commit that still follows writes (see open-commit.lua)
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
