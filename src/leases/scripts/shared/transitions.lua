-- @include layout.lua
-- @include leases.lua
-- @include servers.lua
-- @include state.lua

-- Tombstones. The head has the newest tombstones, at most MOST_INLINE. Older tombstones move to `past1` or `past2`
-- (layout.lua). After REMEMBER_US or MOST_PAST tombstones in one hash, the other hash is emptied and takes the next
-- tombstones.

-- @rare
local function is_past_full()
  return meta.past_count >= MOST_PAST or math.abs(now - meta.past_since) > REMEMBER_US
end

-- Moves the tombstones with these ids, which have left the head, to a `past` hash.
-- @rare
local function move_to_past(ids, times)
  if is_past_full() then
    meta.past_number, meta.past_since, meta.past_count = meta.past_number == 1 and 2 or 1, now, 0
    redis.call('UNLINK', key_of('past' .. meta.past_number))
  end
  local fields, moved = {}, {}
  for i, id in ipairs(ids) do fields[i] = 'r' .. id end
  local stored = redis.call('HMGET', STATE_KEY, unpack(fields))
  for i, id in ipairs(ids) do
    local packed = unsaved[id] and cmsgpack.pack(records[id]) or stored[i]
    if packed then moved[#moved + 1], moved[#moved + 2] = id, struct.pack(PAST_TIME, times[i]) .. packed end
    unsaved[id] = nil
  end
  redis.call('HDEL', STATE_KEY, unpack(fields))
  if #moved == 0 then return end
  local key = key_of('past' .. meta.past_number)
  redis.call('HSET', key, unpack(moved))
  redis.call('PEXPIREAT', key, int(math.floor((now + 2 * REMEMBER_US) / 1000)))
  meta.past_count = meta.past_count + #moved / 2
end

-- Adds a tombstone. The caller stores its record.
local function add_tombstone(id)
  tombs = tombs .. struct.pack(ELEMENT, now + REMEMBER_US, #id, id)
end

-- Takes the first tombstones from the head, as long as `is_taken` is true, and returns their ids and times.
-- @rare
local function take_tombstones(is_taken)
  local ids, times, at, rest = {}, {}, 1, 1
  while at <= #tombs do
    local time, id
    time, id, at = struct.unpack(ELEMENT, tombs, at)
    if not is_taken(#ids, time) then break end
    ids[#ids + 1], times[#times + 1], rest = id, time, at
  end
  tombs = string.sub(tombs, rest)
  return ids, times
end

-- Moves a batch of tombstones if the head has too many. Only `answer` calls this function, so a script that ends many
-- leases moves their tombstones together.
local function shrink_head()
  local excess = #tombs - MOST_INLINE * ELEMENT_BYTES
  if excess <= 0 then return end
  local count = excess / ELEMENT_BYTES + FEW_INLINE
  move_to_past(take_tombstones(function(taken) return taken < count end))
end

-- After a step back of Redis's clock, no tombstone is kept longer than a new one.
-- @rare
local function advance_tombstones()
  local ids = take_tombstones(function() return true end)
  for _, id in ipairs(ids) do add_tombstone(id) end
end

-- Forgets the tombstones that are due.
-- @rare
local function forget_tombstones()
  forget((take_tombstones(function(_, time) return time <= now end)))
end

-- Forgets the tombstone of a request.
-- @rare
local function remove_tombstone(id)
  if past_times[id] then redis.call('HDEL', key_of('past' .. past_numbers[id]), id) end
  local _, last = string.find(tombs, id, 1, true)
  if last then tombs = string.sub(tombs, 1, last - ELEMENT_BYTES) .. string.sub(tombs, last + 1) end
  forget({ id })
end

-- Removes an old tombstone with the id of a new request: when due, the tombstone would remove the record of the new
-- request. Such a tombstone exists only if its record was deleted manually.
local function remove_old_tombstone(id)
  if tombs ~= '' and string.find(tombs, id, 1, true) then remove_tombstone(id) end
end

-- The steps of a request from one state to another that every script needs.

-- The record of a member of a place, if the record has the state of this place. The state differs if the record was deleted
-- manually and a repeated request has stored it again.
-- @rare
local function load_in(state, id)
  local request = load(id)
  return request and request.state == state and request
end

-- WAITING or DETACHED -> DETACHED: `grant_next` skips the request, and the ticket is kept for the same request id.
-- @rare
local function detach(id, request)
  if request.state == WAITING then remove('queue', id) end
  put_due('detached', now + KEEP_PLACE_US, id)
  request.state, request.extended = DETACHED, nil
  store(id, request)
end

-- OFFERED, or HELD and reported to no client -> DETACHED with its own ticket. The fencing token is not used again.
-- @rare
local function take_back(id, request)
  if request.state == OFFERED then remove('offers', id) else remove_end(id) end
  meta.used = meta.used - request.permits
  detach(id, request)
end

-- HELD -> ENDED: a tombstone remembers the cause. The tombstone has a token and a ticket if only one call was answered with
-- the lease. This call may not have received the answer, and then gives the lease back (lease-withdraw.lua). The request
-- of a revoked lease has finished in any case.
local function end_lease(id, request, cause)
  remove_end(id)
  meta.used = meta.used - request.permits
  if request.revoked and cause ~= 'released' then cause = 'revoked' end
  local is_returnable = cause ~= 'released' and not request.revoked and request.returnable >= 1
    and request.answered == request.attach
  store(id, {
    state = ENDED, cause = cause, attach = request.attach, secret = request.secret, identity = request.identity,
    fencing_token = is_returnable and request.fencing_token or nil, ticket = is_returnable and request.ticket or nil,
  })
  add_tombstone(id)
end

-- Steps of a limit change or a deletion that need several scripts, with one batch in each.

-- The limit was lowered below the permits in use: all offers go back into the queue with their own tickets. A claim of
-- such an offer would exceed the limit, and the permits that are left belong to the first waiter.
-- @rare
local function recall_offers()
  local ids = meta.offers > 0 and redis.call('ZRANGE', key_of('offers'), 0, BATCH - 1) or {}
  for _, id in ipairs(ids) do
    local request = load(id)
    remove('offers', id)
    if request then
      meta.used = meta.used - request.permits
      request.state = WAITING
      put('queue', request.ticket, id)
      store(id, request)
    end
  end
  if #ids < BATCH then change.recall = nil end
end

-- The semaphore was deleted: holders learn that their lease was revoked, and waiters that there is no semaphore.
-- @rare
local function end_all_requests()
  local left = BATCH
  local function first(part, count)
    local ids = left > 0 and count > 0 and redis.call('ZRANGE', key_of(part), 0, left - 1) or {}
    left = left - #ids
    return ids
  end
  -- A copy, because the end of a lease removes its id.
  local held = meta.is_spilled == 1 and first('ends', meta.ends) or { unpack(lease_ids) }
  for _, id in ipairs(held) do
    local request = load_in(HELD, id)
    if request and is_holding(request.attach) then send_hint(request.attach, id) end
    if request then end_lease(id, request, 'revoked') else remove_end(id) end
  end
  for _, part in ipairs({ 'offers', 'queue', 'detached' }) do
    local ids = first(part, meta[part])
    for _, id in ipairs(ids) do
      local request = load(id)
      if request then send_hint(request.attach, id) end
      remove(part, id)
    end
    forget(ids)
  end
  if left == 0 then return end
  meta.used, change.dissolving = 0, nil
  redis.call('UNLINK', key_of('live'))
end

-- True while a limit change or a deletion is unfinished. No script grants or answers before the end: the script answers
-- AGAIN, and the server runs the script again.
local function is_unfinished() return not own_only and (change.recall or change.dissolving) end
