-- Keys and numbers that the scripts of the permits engine share. layout.lua describes the keys.
--
-- EPOCH_KEY belongs to the resource's bucket. All keys share the bucket's slot. In Redis Cluster, KEYS also has a key that
-- never exists: `absentKey` in src/redis/keys.ts says why.
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
local KEEP_TICKET_US = 7200000000 -- the ticket of a revoked request is kept for this time; a call waits for at most an hour
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
