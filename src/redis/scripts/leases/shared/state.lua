-- What every script of the permits engine shares, in five files that follow each other: state, epoch, requests,
-- queue, answers. The embedding step puts what a script uses of them in front of it, so a script reads `KEYS` and `ARGV` into
-- named locals, decides, and ends with `answer(...)`.
--
-- One resource (a lock or a semaphore) is seven keys, a semaphore eight, all in the slot of its bucket; between them is
-- EPOCH, which is its bucket's. In Redis Cluster one more follows that is never there (`absentKey` in keys.ts says why):
local STATE = KEYS[1]    -- hash: the numbers in `meta` below, and `r<request_id>`: that request's record
local ENDS = KEYS[2]     -- zset: HELD requests by the end of their lease (us)
local OFFERS = KEYS[3]   -- zset: OFFERED requests by the moment the offer lapses (us)
local QUEUE = KEYS[4]    -- zset: WAITING requests by ticket
local DETACHED = KEYS[5] -- zset: places kept for a call that went away, by the moment they are dropped (us)
local ENDED = KEYS[6]    -- zset: tombstones of ended leases, by the moment they are dropped (us)
local LIVE = KEYS[7]     -- zset: servers with waiters here, by the time of their last script (us)
local LIMIT = KEYS[9]    -- string: a limit that was set, not only brought by a request; it does not expire
--
-- A record (packed) has these fields:
--   s state: W waiting, D detached, O offered, H held, E ended
--   a attach "<server>.<n>", a stream's ends with "s": the call that speaks for the request
--   k the lease's secret
--   n permits taken, x mode, h holder_id, m metadata (opaque), l ttl (us), t ticket
--   f fencing token, g time of the grant (us), q time of the queueing (us)
--   o attach of the only call that was answered with this lease, "" once another one was
--   w 1 while the lease may be given back by `o`, which was granted it; c cause of the end; v 1 if revoked
--   e 1 once an offer or a kept place was given more time after a stall
--
-- Always true between scripts: used = sum of n over ENDS and OFFERS; a request is in exactly one zset, the
-- one of its state; tokens and tickets only rise. Every time is one reading of Redis's clock in microseconds,
-- below 2^53, so a Lua number holds it exactly. A key's own expiry only collects garbage.

local BATCH = 64                 -- a script purges and promotes at most this many of each and answers `more`
local MOST_OFFERS = 256          -- no more than these are out at a time: each is to be claimed before it lapses
local OFFER_US = 3000000         -- an offer not claimed by then lapses
local SILENT_US = 4000000        -- a server unseen for this long has its waiters detached
local STALL_US = 3000000         -- nobody seen for this long: Redis stalled, so nobody is judged by silence ...
local GRACE_US = 3000000         -- ... for this long
local KEEP_PLACE_US = 10000000   -- a detached place is kept this long
local REMEMBER_US = 60000000     -- a tombstone is kept this long ...
local MAX_TOMBSTONES = 10000     -- ... unless so many younger ones follow
local SET_BACK_US = 100000       -- by more than this: what is measured by Redis's clock would last too long
local NEVER = 9007199254740991   -- a time that does not come
local LONGEST_US = 86400000000   -- the longest ttl that a server can be configured to give

-- For arguments: exact, and a tenth of what Redis takes to write a Lua number (%.17g).
local function int(number) return string.format('%d', number) end

local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local NOW = int(now)
if now >= 9007199254740992 then return redis.error_reply('HOLDFAST clock is past 2^53 us') end

-- limit (nil: unknown resource), used, token, ticket; seen: the last script; grace: nobody is judged until then,
-- graced: the end of the grace before it; till: the latest end of a lease; cursor: how far `walk` has come;
-- offers, detached, ended: nothing in that zset is due before then, though nothing need be due then either
local NUMBERS = { 'limit', 'used', 'token', 'ticket', 'seen', 'grace', 'till', 'graced', 'cursor', 'offers',
  'detached', 'ended' }
local meta = {}
local read = {}        -- the numbers as they were read; `answer` writes what has changed
-- What a changed limit or a deletion has left to do or to remember, empty for nearly all resources:
--   recall: offers are being taken back; misfits: who never fits is being told; dissolving: a deleted semaphore's
--   requests are being ended; back: leases are being shortened whose ends have moved away with Redis's clock, from this end
--   on; at, cut, id: when it was deleted (us), the last ticket before that, and by which call
local moving = {}
local was_moving = false
local made = false     -- the limit is the one that this script's request brought
local records = {}     -- request id -> record, as read or changed by this script
local unsaved = {}     -- request id -> true: its record is written by `answer`
local touched = {}     -- key -> true: its own expiry is set by `answer`
local ends = {}        -- request id -> end of its lease, of some that are in ENDS now
local more = false     -- purge or promote stopped at BATCH
local offers = {}      -- requests of the calling server that became OFFERED
local self = ''        -- the calling server
local own = ''         -- the request the script is about
local alone = nil      -- set where others are not this script's business: it neither purges nor promotes. It is what
                       -- `more` answers then: 1 touch the resource to do that, 2 ask after the epoch
local paused = 0       -- for how long grants still pause (us)
local rival = 0        -- while grants pause: until then another Redis may grant whatever ends before then (us)
local shift = 0        -- while grants pause for it: how far Redis's clock was set forward (us). Leases have so much longer

local function unpack_record(packed) return packed and cmsgpack.unpack(packed) or nil end

-- Reads the numbers and the request's own record; applies the stall rule. Every script starts with it.
local function begin(server, id)
  self, own = server, id
  local v = redis.call('HMGET', STATE, 'moving', 'r' .. id, unpack(NUMBERS))
  for i, name in ipairs(NUMBERS) do
    local number = tonumber(v[i + 2])
    read[name], meta[name] = number, number or 0
  end
  meta.limit, meta.seen = read.limit, read.seen or now
  if now - meta.seen > STALL_US then
    meta.graced = meta.grace -- a name that is just rarely used has one such pause after the other
    meta.grace = now + GRACE_US
  end
  was_moving = v[1] ~= false
  moving = unpack_record(v[1]) or moving
  if moving.at and now - moving.at > REMEMBER_US and not moving.dissolving then
    moving.at, moving.cut, moving.id = nil, nil, nil
  end
  records[id] = unpack_record(v[2])
  return records[id]
end

-- Finds the limit, or makes the resource if it is new. What the other keys have then is of one whose state a hand
-- has deleted, or of one so long idle that only the limit which was set is left.
local function exists(initial_limit)
  if meta.limit == nil then
    local limit = LIMIT and tonumber(redis.call('GET', LIMIT))
    made = limit == nil
    meta.limit = limit or initial_limit
    if was_moving then
      touched[ENDED] = true -- the tombstones of one that was deleted, which was to go with them
    elseif meta.limit ~= nil then
      redis.call('UNLINK', unpack(KEYS, 2, 7))
      meta.offers, meta.detached, meta.ended = NEVER, NEVER, NEVER
    end
  end
  return meta.limit ~= nil
end

-- A limit of 0 is a pause: everybody waits.
local function never_fits(permits) return meta.limit > 0 and permits > meta.limit end

local function load(id)
  local r = records[id]
  if r == nil then
    r = unpack_record(redis.call('HGET', STATE, 'r' .. id))
    records[id] = r
  end
  return r
end

local function store(id, r)
  records[id] = r
  unsaved[id] = true
end

local function put(key, time, member)
  redis.call('ZADD', key, int(time), member)
  touched[key] = true
end

-- As `put`, into a zset whose earliest time is noted: 'offers', 'detached' or 'ended'.
local function put_due(key, name, time, member)
  put(key, time, member)
  meta[name] = math.min(meta[name], time)
end

local function drop(key, ids)
  if #ids == 0 then return end
  local fields = {}
  for i, id in ipairs(ids) do
    fields[i] = 'r' .. id
    records[id], unsaved[id] = nil, nil
  end
  redis.call('HDEL', STATE, unpack(fields))
  redis.call('ZREM', key, unpack(ids))
end
