-- @include layout.lua
-- @include leases.lua
-- @include servers.lua
-- @include state.lua
-- @include transitions.lua

-- A limit of 0 is a pause: every request waits.
local function never_fits(permits) return meta.limit > 0 and permits > meta.limit end

-- WAITING or DETACHED -> forgotten, because the request never fits.
-- @rare
local function dismiss(id, request)
  remove(request.state == WAITING and 'queue' or 'detached', id)
  forget({ id })
end

-- Walks once along the queue, a batch in each script. Waiters that never fit are removed and told so. Waiters of silent
-- servers are detached, because the queue counts and shows them until they become its head. True at the end.
-- @rare
local function walk_queue()
  local ids = meta.queue > 0
    and redis.call('ZRANGEBYSCORE', key_of('queue'), int(meta.cursor), '+inf', 'LIMIT', '0', BATCH) or {}
  for _, id in ipairs(ids) do
    local request = load(id)
    if not request then
      remove('queue', id)
    else
      meta.cursor = request.ticket + 1
      if never_fits(request.permits) then
        dismiss(id, request)
        send_hint(request.attach, id)
      elseif is_silent(server_of(request.attach)) then
        detach(id, request)
      end
    end
  end
  if #ids == BATCH then
    more = true
    return false
  end
  meta.cursor, change.misfits = 0, nil
  return true
end

-- Walks the queue if a server is dead or if waiters that never fit are being removed. Returns true after a full walk,
-- which forgets the dead server.
-- @rare
local function clean_queue()
  local dead = redis.call('ZRANGEBYSCORE', key_of('live'), '-inf', int(now - KEEP_PLACE_US), 'LIMIT', '0', '1')[1]
  if dead and not is_silent(dead) then dead = nil end
  if not dead and not change.misfits then
    meta.cursor = 0 -- the next walk begins at the head
    return false
  end
  if not walk_queue() then return false end
  if dead then redis.call('ZREM', key_of('live'), dead) end
  return true
end

-- `grant_next` gives free permits to the head of the queue. Every script that can free permits calls `grant_next`.

local function take_permits(request)
  meta.used = meta.used + request.permits
  meta.last_token = math.max(meta.last_token + 1, now)
  request.fencing_token = meta.last_token
end

-- True if permits are held or offered. Members of a sorted set may have been deleted manually.
-- @rare
local function has_holders()
  if meta.is_spilled == 1 then count_again('ends') end
  count_again('offers')
  return meta.ends + meta.offers > 0
end

local function fits(permits)
  if meta.used + permits <= meta.limit then return true end
  if #lease_ids > 0 or has_holders() then return false end
  meta.used = 0 -- the holders were deleted manually: no other step would free their permits
  return permits <= meta.limit
end

-- WAITING -> HELD for a waiter of the calling server, which learns of the grant by the reply of this script.
-- @rare
local function grant_directly(id, request)
  remove('queue', id)
  take_permits(request)
  hold(id, request)
  request.returnable = 2
  news[#news + 1] = { id, request.attach, request.fencing_token, request.ttl, request.secret, request.permits }
end

-- WAITING -> OFFERED: a command of the waiter's call must claim the offer. So the script's own request is never granted
-- without the script's answer.
-- @rare
local function offer(id, request)
  remove('queue', id)
  put_due('offers', now + OFFER_US, id)
  take_permits(request)
  request.state, request.granted_at, request.extended = OFFERED, now, nil
  store(id, request)
  send_hint(request.attach, id)
end

local heads_left = BATCH -- how many heads of the queue this script may still visit

-- Grants or offers the head of the queue its permits while they fit, and detaches a head with a silent server. The
-- function looks at no waiter behind the head, so no waiter overtakes another. True if the queue is empty; else false
-- or nil.
-- @rare
local function grant_waiters()
  while heads_left > 0 do
    heads_left = heads_left - 1
    if not fits(1) then return false end
    local id = meta.queue > 0 and redis.call('ZRANGE', key_of('queue'), '0', '0')[1]
    if not id then
      meta.queue = 0
      return true
    end
    local request = load(id)
    if not request then
      remove('queue', id)
    elseif is_silent(server_of(request.attach)) then
      detach(id, request)
    elseif not fits(request.permits) then
      return false
    elseif id ~= own_id and request.ttl <= DIRECT_TTL_US and server_of(request.attach) == calling_server then
      grant_directly(id, request)
    else
      if meta.offers >= MAX_OFFERS then return false end
      offer(id, request)
    end
  end
  if meta.queue == 0 then return true end
  more = true
end

-- As `grant_waiters`, if the script may act on other requests than its own.
local function grant_next()
  if own_only or not meta.limit or not fits(1) then return false end
  return meta.queue == 0 or grant_waiters()
end
