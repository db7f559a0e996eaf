-- @include layout.lua

-- The variables that all functions share, and how an operation reads a resource. An operation is the work of one script, or of
-- one function of the library.

-- Formats a number for an argument: exact, and ten times faster than Redis's own conversion of a Lua number (%.17g).
local function int(number) return string.format('%d', number) end

-- What the server says of itself, which several operations of one command share: its id, how long keys are kept (ms), the epoch
-- that it expects of the bucket, and the time (us) after which it no longer waits for the answer. `epoch` is the text of
-- epoch-adopt.lua, or false. The operation's own arguments follow.
-- @script
local calling_server, retention_ms, expected, not_after = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local now_text = int(now)
if now > NEVER then return redis.error_reply('HOLDFAST clock is past 2^53 us') end
local epoch = redis.call('GET', EPOCH_KEY)

-- The variables of one operation.
local stored_seen = now     -- `meta.seen` before this script
-- Unfinished work and facts of a limit change, a deletion or a step of Redis's clock; empty for most resources:
-- recall      offers are being taken back
-- misfits     waiters that never fit are being removed
-- dissolving  the requests of a deleted semaphore are being ended
-- back        leases that end at this time or earlier are being shortened, because Redis's clock was set back
-- at, cut, id the time of the deletion (us), the last ticket before the deletion, the id of the deletion
local change = {}
local had_change = false
local is_new = false        -- the limit came from this script's request
local records = {}          -- request id -> record, as read or changed by this script; false: Redis has none
local unsaved = {}          -- request id -> true: `answer` writes the record
local past_times = {}       -- request id -> the time when the tombstone is forgotten, if the record is in a `past` hash
local past_numbers = {}     -- request id -> the number of this `past` hash
local expiring = {}         -- part -> true: `answer` sets the expiry of this sorted set, which the script may have created
local known_ends = {}       -- request id -> end of the lease, for some requests in the sorted set `ends`
local more = false          -- a step stopped after BATCH requests
local watchers = false      -- the packed servers with watches (servers.lua); false: none
local is_shown_changed = false -- something has changed that watches show: `answer` tells the servers with watches
local news = {}             -- the news of requests of the calling server (reply.lua)
local own_id = ''           -- id of the request that the script is about
local own_only = nil        -- set if the script must leave other requests alone: it neither purges nor grants. The
                            -- answer's follow_up is this value (reply.lua)
local paused_us = 0         -- how long grants still pause (us)
local rival_until = 0       -- while grants pause: another Redis may grant until this time (us), so no lease that ends
                            -- before is renewed
local clock_shift = 0       -- while grants pause: how far Redis's clock was set forward (us); leases last longer by this

local function unpack_record(packed) return packed and cmsgpack.unpack(packed) end
-- @enclose

-- Reads the tombstone of a request from the `past` hashes. A tombstone that is due counts as forgotten.
local function read_past(id)
  if meta.past_number == 0 then return end
  for number = 1, 2 do
    local packed = redis.call('HGET', key_of('past' .. number), id)
    if packed then
      local time, at = struct.unpack(PAST_TIME, packed)
      if time > now then
        past_times[id], past_numbers[id] = time, number
        return cmsgpack.unpack(string.sub(packed, at))
      end
    end
  end
end

-- Reads the head and the record of the script's own request. Every script begins with this function.
local function begin(id)
  own_id = id
  local values = redis.call('HMGET', STATE_KEY, 'h', 'moving', 'r' .. id, 'w')
  read_head(values[1])
  watchers = values[4]
  stored_seen = meta.seen
  meta.seen = meta.seen or now
  -- All past tombstones are due, or Redis's clock was set back.
  if math.abs(now - meta.past_since) > 2 * REMEMBER_US then meta.past_number = 0 end
  -- A script with `own_only` leaves the grace to the next script that may judge servers, and does not update `seen`.
  if not own_only and now - meta.seen > STALL_US then
    meta.graced = meta.grace -- for a rarely used resource, each script begins a new grace
    meta.grace = now + GRACE_US
  end
  had_change = values[2] ~= false
  change = unpack_record(values[2]) or change
  if change.at and now - change.at > REMEMBER_US and not change.dissolving then
    change.at, change.cut, change.id = nil, nil, nil
  end
  local record = unpack_record(values[3])
  if not record and id ~= '' then record = read_past(id) end
  records[id] = record
end

-- Returns the record of a request, or false if Redis has none.
-- @rare
local function load(id)
  local request = records[id]
  if request == nil then
    request = unpack_record(redis.call('HGET', STATE_KEY, 'r' .. id)) or read_past(id) or false
    records[id] = request
  end
  return request
end

-- Writes to the resource.

local function store(id, request)
  records[id] = request
  unsaved[id] = true
end

-- Adds a request to a sorted set. `part` is the set, and its count in `meta`: 'offers', 'queue' or 'detached'. If the count
-- is 0, all members of the set are left over, because STATE_KEY was deleted manually. The expiry of `live` is not moved
-- while no request waits.
-- @rare
local function put(part, score, id)
  if meta[part] == 0 then
    redis.call('UNLINK', key_of(part))
    expiring.live = true
  end
  local added = redis.call('ZADD', key_of(part), int(score), id)
  meta[part] = meta[part] + added
  if added == 1 then is_shown_changed = true end
  expiring[part] = true
end

-- As `put`, for a sorted set with a lower bound in `meta`: 'offers' or 'detached'.
-- @rare
local function put_due(part, time, id)
  put(part, time, id)
  local bound = part .. '_due'
  meta[bound] = math.min(meta[bound], time)
end

-- Counts a sorted set again, because members may have been deleted manually.
-- @rare
local function count_again(part)
  if meta[part] > 0 then meta[part] = redis.call('ZCARD', key_of(part)) end
end

-- @rare
local function remove(part, id)
  if meta[part] > 0 then meta[part] = meta[part] - redis.call('ZREM', key_of(part), id) end
  if part ~= 'detached' then is_shown_changed = true end
end

-- Removes the records of requests that have left their place.
-- @rare
local function forget(ids)
  if #ids == 0 then return end
  local fields = {}
  for i, id in ipairs(ids) do
    fields[i] = 'r' .. id
    records[id], unsaved[id] = nil, nil
  end
  redis.call('HDEL', STATE_KEY, unpack(fields))
end

-- For scripts about several resources of one bucket.

-- Forgets what the script knows of a resource, before `begin` reads the next one, of the same bucket. `begin` itself sets the
-- variables that are not here, or a renewal does not change them.
local function next_resource(state_key)
  KEYS[1] = state_key -- STATE_KEY
  key_start = nil
  meta, lease_ids, lease_ends = empty_meta(), {}, {}
  change, unsaved, past_times = {}, {}, {}
  expiring, known_ends = {}, {}
end

-- Finds the limit, or creates the resource with `initial_limit`. Returns false if the resource does not exist.
local function find_or_create(initial_limit)
  if meta.limit == nil then
    local limit = is_semaphore() and tonumber(redis.call('GET', limit_key()))
    is_new = limit == nil
    meta.limit = limit or initial_limit
  end
  return meta.limit ~= nil
end

-- The value of `limit_key` of a paused semaphore: 0 as a number, for every script that reads a limit, also those of older
-- servers. Their scripts replace or delete the value as a whole, so no kept limit is left behind.
local function kept_text(limit) return '0e' .. int(limit) end

-- The limit that the end of the pause brings back, or nil.
local function kept_limit()
  if meta.limit ~= 0 then return nil end
  return tonumber(string.match(redis.call('GET', limit_key()) or '', '^0e(%d+)$'))
end
