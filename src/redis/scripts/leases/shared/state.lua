-- The variables that all functions of a script share, and how a script reads a resource.
-- @include constants.lua

-- Formats a number for an argument: exact, and ten times faster than Redis's own conversion of a Lua number (%.17g).
local function int(number) return string.format('%d', number) end

local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local NOW_TEXT = int(now)
if now >= 9007199254740992 then return redis.error_reply('HOLDFAST clock is past 2^53 us') end

-- limit    permits in total (nil: the resource is unknown)
-- used     permits that are held or offered
-- token    the last fencing token
-- ticket   the last ticket
-- seen     time of the last script
-- grace    no server is judged silent before this time
-- graced   end of the grace before
-- till     the latest end of a lease
-- cursor   ticket where `walk_queue` continues
-- offers, detached, ended   a lower bound of the earliest time in that sorted set
local NUMBERS = { 'limit', 'used', 'token', 'ticket', 'seen', 'grace', 'till', 'graced', 'cursor', 'offers',
  'detached', 'ended' }
local meta = {}             -- the values of NUMBERS
local stored = {}           -- the values of NUMBERS in Redis; `answer` writes the values that differ from `meta`
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
local touched_keys = {}     -- key -> true: `answer` sets the key's expiry
local known_ends = {}       -- request id -> end of the lease, for some requests in ENDS_KEY
local more = false          -- a step stopped after BATCH requests
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

-- Reads the numbers and the record of the script's own request. Every script begins with this function.
local function begin(server, id)
  calling_server, own_id = server, id
  local values = redis.call('HMGET', STATE_KEY, 'moving', 'r' .. id, unpack(NUMBERS))
  for i, name in ipairs(NUMBERS) do
    local number = tonumber(values[i + 2])
    stored[name], meta[name] = number, number or 0
  end
  meta.limit, meta.seen = stored.limit, stored.seen or now
  if now - meta.seen > STALL_US then
    meta.graced = meta.grace -- for a rarely used resource, each script begins a new grace
    meta.grace = now + GRACE_US
  end
  had_change = values[1] ~= false
  change = unpack_record(values[1]) or change
  if change.at and now - change.at > REMEMBER_US and not change.dissolving then
    change.at, change.cut, change.id = nil, nil, nil
  end
  records[id] = unpack_record(values[2])
end

local function load(id)
  local request = records[id]
  if request == nil then
    request = unpack_record(redis.call('HGET', STATE_KEY, 'r' .. id))
    records[id] = request
  end
  return request
end
