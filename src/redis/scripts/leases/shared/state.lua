-- The variables that all functions of a script share, and how a script reads a resource.
-- @include layout.lua

-- Formats a number for an argument: exact, and ten times faster than Redis's own conversion of a Lua number (%.17g).
local function int(number) return string.format('%d', number) end

local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local NOW_TEXT = int(now)
if now >= 9007199254740992 then return redis.error_reply('HOLDFAST clock is past 2^53 us') end

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
local watchers = false      -- the packed servers with watches (watchers.lua); false: none
local is_shown_changed = false -- something has changed that watches show: `answer` tells the servers with watches
local news = {}             -- the news of requests of the calling server (reply.lua)
local calling_server = ''
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
local function begin(server, id)
  calling_server, own_id = server, id
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
