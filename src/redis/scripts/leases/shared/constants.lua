-- Keys and numbers that the scripts of the permits engine share.
--
-- A lock has the seven keys before EPOCH_KEY. A semaphore has LIMIT_KEY too. EPOCH_KEY belongs to the resource's bucket.
-- All keys share the bucket's slot. In Redis Cluster a key follows that never exists: `absentKey` in src/redis/keys.ts
-- says why.
local STATE_KEY = KEYS[1]    -- hash: the numbers of state.lua, and the record of each request in field `r<request_id>`
local ENDS_KEY = KEYS[2]     -- sorted set: HELD requests by the end of their lease (us)
local OFFERS_KEY = KEYS[3]   -- sorted set: OFFERED requests by the time when the offer lapses (us)
local QUEUE_KEY = KEYS[4]    -- sorted set: WAITING requests by ticket
local DETACHED_KEY = KEYS[5] -- sorted set: DETACHED requests by the time when they are forgotten (us)
local ENDED_KEY = KEYS[6]    -- sorted set: tombstones of ended leases by the time when they are forgotten (us)
local LIVE_KEY = KEYS[7]     -- sorted set: servers with waiters here by the time of their last script (us)
local EPOCH_KEY = KEYS[8]    -- string: the epoch of the bucket; epoch-adopt.lua describes its format
local LIMIT_KEY = KEYS[9]    -- string: a limit that SetSemaphoreLimit has set; the key does not expire

-- Every time is one reading of Redis's clock in microseconds, below 2^53, so a Lua number holds it exactly.
-- The most leases that a script ends, requests that a script forgets, and offers that a script makes. If some of this
-- work is left, the script answers `more`.
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
local MAX_TOMBSTONES = 10000    -- the most tombstones that are kept, the youngest
local SET_BACK_US = 100000      -- Redis's clock was set back if a stored time is later than the clock by more than this
local NEVER = 9007199254740991  -- later than any time
local LONGEST_US = 86400000000  -- the longest ttl that a server can be configured to grant
