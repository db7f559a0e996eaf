-- @include layout.lua
-- @include state.lua

-- The ends of held leases: in the head, or in the sorted set `ends` (layout.lua).

local function position_of(id)
  for i, other in ipairs(lease_ids) do
    if other == id then return i end
  end
end

-- The end of a lease (us), or nil.
local function stored_end(id)
  if meta.is_spilled == 0 then return lease_ends[position_of(id)] end
  if not known_ends[id] then known_ends[id] = tonumber(redis.call('ZSCORE', key_of('ends'), id)) end
  return known_ends[id]
end

-- Moves all leases from the head to the sorted set. Old members of the set are left over (`put` in state.lua), and are
-- removed.
-- @rare
local function spill()
  local members = {}
  for i, id in ipairs(lease_ids) do
    members[#members + 1], members[#members + 2] = int(lease_ends[i]), id
    known_ends[id] = lease_ends[i]
    meta.ends_due = math.min(meta.ends_due, lease_ends[i])
  end
  redis.call('UNLINK', key_of('ends'))
  redis.call('ZADD', key_of('ends'), unpack(members))
  lease_ids, lease_ends, meta.is_spilled = {}, {}, 1
end

-- Moves the few leases of the sorted set back into the head.
-- @rare
local function gather()
  local members = redis.call('ZRANGE', key_of('ends'), '0', BATCH - 1, 'WITHSCORES') -- more were added manually
  for i = 1, #members, 2 do
    lease_ids[#lease_ids + 1], lease_ends[#lease_ends + 1] = members[i], tonumber(members[i + 1])
  end
  redis.call('UNLINK', key_of('ends'))
  meta.is_spilled, meta.ends = 0, #lease_ids
end

local function set_end(id, time)
  meta.till = math.max(meta.till, time)
  if meta.is_spilled == 0 then
    local i = position_of(id)
    if i then
      lease_ends[i] = time
      return
    end
    if #lease_ids < MOST_INLINE then
      lease_ids[#lease_ids + 1], lease_ends[#lease_ends + 1] = id, time
      meta.ends = meta.ends + 1
      return
    end
    spill()
  end
  if redis.call('ZADD', key_of('ends'), int(time), id) == 1 then
    meta.ends, expiring.ends = meta.ends + 1, true
  end
  meta.ends_due = math.min(meta.ends_due, time)
  known_ends[id] = time
end

local function remove_end(id)
  is_shown_changed = true
  if meta.is_spilled == 0 then
    local i = position_of(id)
    if not i then return end
    table.remove(lease_ids, i)
    table.remove(lease_ends, i)
    meta.ends = meta.ends - 1
    return
  end
  meta.ends = meta.ends - redis.call('ZREM', key_of('ends'), id)
  known_ends[id] = nil
  if meta.ends <= FEW_INLINE then gather() end
end

-- The id and the end of the lease that ends first, or nil. If several leases have this end: the lease with the lowest id.
-- @rare
local function first_lease()
  if meta.is_spilled == 1 then
    local first = redis.call('ZRANGE', key_of('ends'), '0', '0', 'WITHSCORES')
    return first[1], tonumber(first[2])
  end
  local id, time
  for i, other in ipairs(lease_ids) do
    local other_end = lease_ends[i]
    if not time or other_end < time or other_end == time and other < id then id, time = other, other_end end
  end
  return id, time
end

-- The end of the script's own lease (us), never more than the lease's ttl from now, even if Redis's clock was set back.
local function end_of(id)
  local request = records[id]
  return math.min(stored_end(id), now + request.ttl)
end

-- OFFERED, WAITING or new -> HELD. The call that speaks for the request is answered with the lease.
local function hold(id, request)
  if request.state == OFFERED then remove('offers', id) end
  request.state, request.answered, request.returnable, request.granted_at = HELD, request.attach, 1, now
  set_end(id, now + request.ttl)
  is_shown_changed = true
  store(id, request)
end

-- Stores the identity of a new request. `client` is "" without an identity, else the client's request id, a UUID, and then the
-- identity.
local function identify(request, client)
  if client == '' then return end
  request.client_request_id, request.identity = string.sub(client, 1, 36), string.sub(client, 37)
end

-- True if the caller has the secret of the request's lease, and the identity of its holder.
local function is_holder(request, secret, identity)
  return request and request.secret == secret and (not request.identity or request.identity == identity)
end
