-- Keys and numbers that the scripts of leases share, what the keys hold, and the record of a request.
--
-- EPOCH_KEY belongs to the resource's bucket. All keys share the bucket's slot. In Redis Cluster, KEYS also has a key that
-- never exists: `absentKey` in src/redis/buckets.ts says why.
-- @script
local STATE_KEY = KEYS[1]
local EPOCH_KEY = KEYS[2]    -- string: the epoch of the bucket; epoch-adopt.lua describes its format


-- Every time is one reading of Redis's clock in microseconds, below 2^53, so a Lua number holds it exactly.
-- The most leases that a script ends, requests that a script forgets, and grants and offers that a script makes. If some of
-- this work is left, the script answers `more`.
local BATCH = 64
local MAX_OFFERS = 256          -- the most offers of a resource at a time, so that servers can claim all within OFFER_US
local OFFER_US = 3000000        -- an offer that no server claims lapses after this time
local DIRECT_TTL_US = 120000000 -- a longer lease is offered: a server that stops before it reads the grant would block the
                                -- name for the whole ttl
local SILENT_US = 4000000       -- the waiters of a server that ran no script for this time are detached
local STALL_US = 3000000        -- after this time without a script, no server is judged silent for GRACE_US
local GRACE_US = 3000000        -- how long no server is judged silent after a stall
local KEEP_PLACE_US = 10000000  -- a detached request keeps its place in the queue for this time
local REMEMBER_US = 60000000    -- the longest time for which a tombstone is kept
local KEEP_TICKET_US = 7200000000 -- the ticket of a revoked request is kept for this time; a call waits for at most an hour,
                                -- and a wait of a session learns of the revocation by its next touch
local MOST_TICKETS = 10000      -- the most tickets of revoked requests
local SET_BACK_US = 100000      -- Redis's clock was set back if a stored time is later than the clock by more than this
local NEVER = 9007199254740991  -- later than any time
local LONGEST_US = 86400000000  -- the longest ttl that a server can be configured to grant
local MARGIN_US = 60000000      -- keys are kept longer by up to this time, or a tenth of the retention time, so that few
                                -- scripts move the expiry
local WATCHED_US = 5000000      -- a server is told of changes for this time after its last registration
local MOST_WATCHERS = 64        -- the most servers that a script tells of a change
local LIST_AGAIN_US = 600000000 -- a used name is put into the index of names once in this time
local MOST_INLINE = 16          -- the most leases, and the most tombstones, in the head
local FEW_INLINE = 8            -- leases return from their sorted set to the head when this number is left
local MOST_PAST = 10000         -- the most tombstones of one `past` hash

-- The layout of a resource in Redis. A resource is one hash, STATE_KEY:
--
--   h       the head: the numbers of `meta`, then the inline index (below)
--   r<id>   the record of the request with this id, described below
--   moving  `change`: unfinished work; absent for most resources
--   w       the servers with watches (servers.lua); absent for most resources. A watched lock that was never used has only
--           this field
--
-- The inline index has one element for each lease, and then one for each tombstone, the oldest first: its time and its request
-- id. At most MOST_INLINE leases and as many tombstones are in the head. Beyond that
--   - the oldest tombstones move, with their records, to a `past` hash (transitions.lua),
--   - all leases move to the sorted set `ends`, and return when FEW_INLINE are left (leases.lua).
-- So a record is a field of STATE_KEY in each state, except for old tombstones of much used names.
--
-- The other keys exist only while they have members. `key_of` makes their names from STATE_KEY, which contains LAYOUT, the
-- version of this layout (buckets.ts): PREFIX:{BUCKET}:l2:state:NAME for a lock, and s2 for a semaphore.
--   ends       sorted set: HELD requests by the end of their lease (us), if `meta.is_spilled` is 1
--   offers     sorted set: OFFERED requests by the time when the offer lapses (us)
--   queue      sorted set: WAITING requests by ticket
--   detached   sorted set: DETACHED requests by the time when they are forgotten (us)
--   live       sorted set: servers with waiters here by the time of their last script (us)
--   past1, past2   hashes: request id -> time when it is forgotten, and record, of tombstones
--   revoked    sorted set: the tickets of requests that were revoked before a command of their call was answered with a lease,
--              by the time of the revocation (us). It outlives the tombstones
-- `limit_key`, without a version, is a string, only for semaphores: a limit that SetSemaphoreLimit has set, or 0 and the kept
-- limit of a paused semaphore (state.lua). It does not expire.
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
  local leases = ''
  for i, id in ipairs(lease_ids) do leases = leases .. struct.pack(ELEMENT, lease_ends[i], #id, id) end
  return numbers .. more_numbers .. leases .. tombs
end

-- The record of a request, packed with MessagePack. Redis stores each field under its letter.
--
-- @field s state           one of the five states below
-- @field a attach          the call that speaks for the request: "<server>.<n>", for a stream "<server>.<n>s", and for a session
--                          "<server>.<n>/<client process>/<session number>.<command id>s"
-- @field k secret          the secret of the lease
-- @field n permits         how many permits the request takes
-- @field x mode            exclusive or shared; scripts only compare the text
-- @field h holder_id       a label for people
-- @field m metadata        opaque to scripts
-- @field l ttl             length of the lease (us)
-- @field t ticket          place in the queue
-- @field f fencing_token   set by the grant or the offer; in a tombstone: set while one call may give the lease back
-- @field g granted_at      time of the grant or the offer (us)
-- @field q queued_at       time of the first acquire (us): the ticket, because requests of one command have the same time, and
--                          this time tells the waiters of a name apart
-- @field o answered        attach of the only call that was answered with the lease; "" after a second such call
-- @field w returnable      1 while the call in `answered` may give the lease back; only the call that got the grant may.
--                          2: as 1, and no command of this call was answered with the lease (a direct grant)
-- @field c cause           why the lease ended
-- @field v revoked         1 if an operator revoked the lease
-- @field e extended        1 after a stall gave the offer or the kept place more time
-- @field p identity        the identity that the client has proven; absent without authentication. Only a caller with this
--                          identity may renew and release the lease
-- @field u client_request_id   the request id that the client has sent; absent without an identity, because then the request is
--                          stored under this id (src/leases/lease-id.ts)
--
-- The state determines the place of the request. Fencing tokens and tickets only rise.
local WAITING = 'W'
local DETACHED = 'D' -- the waiting call has ended; the place in the queue is kept
local OFFERED = 'O'  -- the permits are taken, and the server must claim them
local HELD = 'H'
local ENDED = 'E'    -- a tombstone
