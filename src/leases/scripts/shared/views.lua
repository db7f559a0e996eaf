-- @include layout.lua
-- @include leases.lua
-- @include state.lua

-- The public data of a holder: { holder_id, metadata, fencing token, permits, mode, granted us, end us, revoked,
-- identity (absent: none) }.
-- @rare
local function holder_view(id, ends_at)
  local request = load(id)
  if not request then return {} end
  return {
    request.holder_id, request.metadata, request.fencing_token, request.permits, request.mode, request.granted_at,
    ends_at, request.revoked or 0, request.identity,
  }
end

-- Returns { us until the earliest end of a lease or offer (-1: none), number of waiters, view of the holder with the
--   earliest end ({}: none), us until that end, limit ("": unknown), permits in use }
-- @rare
local function queue_snapshot()
  local holder, time = first_lease()
  local lapse = meta.offers > 0 and redis.call('ZRANGE', key_of('offers'), '0', '0', 'WITHSCORES') or {}
  local earliest = math.min(time or NEVER, tonumber(lapse[2]) or NEVER)
  if not holder then holder, time = lapse[1], tonumber(lapse[2]) end
  return {
    earliest == NEVER and -1 or earliest - now,
    meta.queue,
    holder and holder_view(holder, time) or {},
    holder and time - now or 0,
    meta.limit or '', meta.used,
  }
end

-- The leases that have not expired, the earliest end first, and their number. At most `most` of them, or MOST_INLINE if that
-- is more. `expired`: the ids of at most BATCH leases that have expired.
local function held_leases(most)
  local view = { ids = {}, ends = {}, expired = {} }
  local latest = now - clock_shift -- the latest end of an expired lease
  if meta.is_spilled == 1 then
    local key, after = key_of('ends'), '(' .. int(latest)
    view.expired = redis.call('ZRANGEBYSCORE', key, '-inf', int(latest), 'LIMIT', 0, BATCH)
    view.count = redis.call('ZCOUNT', key, after, '+inf')
    local found = redis.call('ZRANGEBYSCORE', key, after, '+inf', 'WITHSCORES', 'LIMIT', 0, most)
    for i = 1, #found, 2 do
      view.ids[#view.ids + 1], view.ends[#view.ends + 1] = found[i], tonumber(found[i + 1])
    end
    return view
  end
  local order = {}
  for i, id in ipairs(lease_ids) do
    if lease_ends[i] <= latest then view.expired[#view.expired + 1] = id else order[#order + 1] = i end
  end
  table.sort(order, function(a, b)
    if lease_ends[a] == lease_ends[b] then return lease_ids[a] < lease_ids[b] end
    return lease_ends[a] < lease_ends[b]
  end)
  view.count = #order
  for i, at in ipairs(order) do view.ids[i], view.ends[i] = lease_ids[at], lease_ends[at] end
  return view
end

-- A lease that was renewed after Redis's clock was set forward is shown with a later end than it has, but no later than its ttl
-- from now, because no record says whether the lease was renewed since.
local function lease_view(id, ends_at)
  local request = load(id)
  return holder_view(id, math.min(ends_at + clock_shift, now + (request and request.ttl or NEVER)))
end

-- A resource with at most `max_shown` holders and waiters: { limit ("": unknown), last fencing token, permits in use,
-- number of holders, number of waiters, { holder_view ... }, { { holder_id, metadata, permits, mode, queued us, identity (absent:
-- none) } ... }, kept limit ("": none) }.
-- Sets `more` if `permits in use` may count expired leases that are not purged yet.
local function resource_view(max_shown)
  local holders, used = {}, meta.used
  local leases = held_leases(max_shown)
  for _, id in ipairs(leases.expired) do
    local request = load(id)
    used = used - (request and request.permits or 0)
  end
  if #leases.expired == BATCH then more = true end
  for i, id in ipairs(leases.ids) do holders[i] = lease_view(id, leases.ends[i]) end
  local holder_count = leases.count
  if meta.offers > 0 then
    local shown, after = max_shown - #holders, '(' .. now_text
    local found = redis.call('ZRANGEBYSCORE', key_of('offers'), after, '+inf', 'WITHSCORES', 'LIMIT', 0, shown)
    for i = 1, #found, 2 do holders[#holders + 1] = holder_view(found[i], tonumber(found[i + 1])) end
    holder_count = holder_count + redis.call('ZCOUNT', key_of('offers'), after, '+inf')
  end
  local waiters = {}
  for i, id in ipairs(meta.queue > 0 and redis.call('ZRANGE', key_of('queue'), 0, max_shown - 1) or {}) do
    local request = load(id)
    waiters[i] = request
      and { request.holder_id, request.metadata, request.permits, request.mode, request.queued_at, request.identity } or {}
  end
  return { meta.limit or '', meta.last_token, used, holder_count, meta.queue, holders, waiters, kept_limit() or '' }
end
