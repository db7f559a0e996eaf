-- The layout of a resource in Redis. A resource is one hash, STATE_KEY:
--
--   h       the head: the numbers of `meta`, then the inline index (below)
--   r<id>   the record of the request with this id (record.lua)
--   moving  `change`: unfinished work; absent for most resources
--   w       the servers with watches (watchers.lua); absent for most resources. A watched lock that was never used has only
--           this field
--
-- The inline index has one element for each lease, and then one for each tombstone, the oldest first: its time and its request
-- id. At most MOST_INLINE leases and as many tombstones are in the head. Beyond that
--   - the oldest tombstones move, with their records, to a `past` hash (past.lua),
--   - all leases move to the sorted set `ends`, and return when FEW_INLINE are left (leases.lua).
-- So a record is a field of STATE_KEY in each state, except for old tombstones of much used names.
--
-- The other keys exist only while they have members. `key_of` makes their names from STATE_KEY, which contains LAYOUT, the
-- version of this layout (keys.ts): PREFIX:{BUCKET}:l2:state:NAME for a lock, and s2 for a semaphore.
--   ends       sorted set: HELD requests by the end of their lease (us), if `meta.is_spilled` is 1
--   offers     sorted set: OFFERED requests by the time when the offer lapses (us)
--   queue      sorted set: WAITING requests by ticket
--   detached   sorted set: DETACHED requests by the time when they are forgotten (us)
--   live       sorted set: servers with waiters here by the time of their last script (us)
--   past1, past2   hashes: request id -> time when it is forgotten, and record, of tombstones
--   revoked    sorted set: the tickets of requests that were revoked before a command of their call was answered with a lease,
--              by the time of the revocation (us). It outlives the tombstones
-- `limit_key`, without a version, is a string, only for semaphores: a limit that SetSemaphoreLimit has set, or 0 and the kept
-- limit of a paused semaphore (kept-limit.lua). It does not expire.
--
-- The index of names, PREFIX:{BUCKET}:l2:names and s2:names, is a sorted set for each service and bucket: the names that lists
-- look at, all with score 0, so in the order of their bytes (names.lua). No part has the name `names`, so no key of a resource
-- has this form.
--
-- Invariants:
--   - A request is in exactly one place, which its state determines: an element of the index or a member of a sorted set.
--   - `used` is the sum of `permits` of all HELD and OFFERED requests.
--   - `ends`, `offers`, `queue` and `detached` of `meta` count the requests in these places, so a script does not read an
--     empty set.
--   - The state and the sorted sets except `revoked` expire at `meta.expires`.
--   - A lock with a lease, an offer, a waiter or a kept place is in the index of names. So is every semaphore. A lock may stay
--     in the index while nobody uses the lock.
--   - `meta.is_listed` is true only if the name is in the index, unless the index was edited manually.
-- @include constants.lua

local key_start, key_end -- of `key_of`

local function key_of(part)
  if not key_start then key_start, key_end = string.match(STATE_KEY, '^([^}]*}:%a%d+:)state(:.*)$') end
  return key_start .. part .. key_end
end

-- @rare
local function limit_key()
  return (string.gsub(STATE_KEY, '^([^}]*}:%a)%d+:state', '%1:limit'))
end

-- Only semaphores have a limit of their own.
local function is_semaphore() return string.match(STATE_KEY, '}:(%a)') == 's' end

-- limit, used  permits in total (nil: the resource is unknown), and permits that are held or offered
-- ends, offers, queue, detached   number of requests in these places
-- is_spilled   1 if the leases are in the sorted set `ends`
-- past_number  the number of the `past` hash that takes tombstones; 0: there is none. `past_since`, `past_count`: the
--              time of its first tombstone, and their number
-- last_token   the last fencing token
-- last_ticket  the last ticket
-- seen         time of the last script
-- grace        no server is judged silent before this time
-- graced       end of the previous grace
-- till         the latest end of a lease
-- expires      the time when the keys expire
-- cursor       ticket where `walk_queue` continues
-- ends_due, offers_due, detached_due   a lower bound of the earliest time in that sorted set
-- is_listed    true if the name is in the index of names
local function empty_meta()
  return {
    used = 0, ends = 0, offers = 0, queue = 0, detached = 0, is_spilled = 0, past_number = 0, past_since = 0, past_count = 0,
    last_token = 0, last_ticket = 0, grace = 0, graced = 0, till = 0, expires = 0, cursor = 0,
    ends_due = NEVER, offers_due = NEVER, detached_due = NEVER,
  }
end
local meta = empty_meta()

-- The first byte has two flags: 1 if MORE follows HEAD, and 2 if the name is in the index of names. MORE has the numbers
-- that only waiters, spilled leases and past tombstones need.
local HEAD = '<BI4I4I4dddddd'
local MORE = '<BBI4I4I4I4dddddd'
local HEAD_BYTES, MORE_BYTES = 61, 66
local ELEMENT = '<dBc0'
local ELEMENT_BYTES = 45 -- because every request id is a UUID
local PAST_TIME = '<d' -- precedes the record of a tombstone in a `past` hash

-- The inline index: the ids and ends of leases, without an order, and the elements of tombstones. The tombstones stay
-- packed, because most scripts read only the first.
local lease_ids, lease_ends, tombs = {}, {}, ''

-- `limit` is stored plus one: 0 is a valid limit, so a stored 0 means that the resource is unknown. A head with too few
-- bytes was edited manually, and counts as deleted.
local function read_head(head)
  if not head or #head < HEAD_BYTES then return end
  local flags, limit, at
  flags, limit, meta.used, meta.ends, meta.last_token, meta.last_ticket, meta.seen, meta.grace, meta.till,
    meta.expires, at = struct.unpack(HEAD, head)
  if limit > 0 then meta.limit = limit - 1 end
  local left = #head - HEAD_BYTES - (flags % 2 == 1 and MORE_BYTES or 0)
  if flags > 3 or left < 0 or left % ELEMENT_BYTES > 0 then
    meta = empty_meta()
    return
  end
  meta.is_listed = flags >= 2
  if flags % 2 == 1 then
    meta.is_spilled, meta.past_number, meta.offers, meta.queue, meta.detached, meta.past_count, meta.graced, meta.cursor,
      meta.past_since, meta.ends_due, meta.offers_due, meta.detached_due, at = struct.unpack(MORE, head, at)
  end
  if meta.is_spilled == 0 then
    meta.ends = math.min(meta.ends, left / ELEMENT_BYTES)
    for i = 1, meta.ends do lease_ends[i], lease_ids[i], at = struct.unpack(ELEMENT, head, at) end
  end
  tombs = string.sub(head, at)
end

local function packed_head()
  local has_more = meta.is_spilled + meta.past_number + meta.queue + meta.offers + meta.detached + meta.cursor > 0
  local numbers = struct.pack(
    HEAD, (has_more and 1 or 0) + (meta.is_listed and 2 or 0), meta.limit and meta.limit + 1 or 0, math.max(0, meta.used),
    meta.ends, meta.last_token, meta.last_ticket, meta.seen, meta.grace, meta.till, meta.expires)
  local more_numbers = has_more and struct.pack(
    MORE, meta.is_spilled, meta.past_number, meta.offers, meta.queue, meta.detached, meta.past_count, meta.graced,
    meta.cursor, meta.past_since, meta.ends_due, meta.offers_due, meta.detached_due) or ''
  local leases = {}
  for i, id in ipairs(lease_ids) do leases[i] = struct.pack(ELEMENT, lease_ends[i], #id, id) end
  return numbers .. more_numbers .. table.concat(leases) .. tombs
end
