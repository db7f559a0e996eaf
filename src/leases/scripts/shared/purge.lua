-- @include transitions.lua

-- Every script calls `purge` before its own step. `purge` ends leases, offers, places and tombstones that are due.

-- @rare
local function due(part)
  local ids = redis.call('ZRANGEBYSCORE', key_of(part), '-inf', now_text, 'LIMIT', '0', BATCH)
  if #ids == BATCH then more = true end
  return ids
end

-- The members of a sorted set that are due. Moves the lower bound in `meta`, so most scripts need no command for the set.
-- If there is no later member, the count becomes the number of found members, which also repairs the count after a manual
-- deletion.
-- @rare
local function due_after_bound(part)
  local bound = part .. '_due'
  local ids = due(part)
  if #ids < BATCH then
    local left = redis.call('ZRANGEBYSCORE', key_of(part), '(' .. now_text, '+inf', 'WITHSCORES', 'LIMIT', '0', '1')
    meta[bound] = tonumber(left[2]) or NEVER
    if not left[2] then meta[part] = #ids end
  end
  return ids
end

-- The end of a lease that was edited manually: no lease lasts longer than LONGEST_US.
-- @rare
local function shorten_edited(id, time)
  if time <= now + LONGEST_US then return end
  local request = load(id)
  set_end(id, now + (request and request.ttl or 0))
end

-- @rare
local function expired_leases()
  if meta.is_spilled == 1 then
    local ids = due_after_bound('ends')
    local edited = meta.ends_due > now + LONGEST_US
      and redis.call('ZRANGE', key_of('ends'), '0', BATCH - 1, 'WITHSCORES') or {}
    for i = 1, #edited, 2 do shorten_edited(edited[i], tonumber(edited[i + 1])) end
    return ids
  end
  local ids = {}
  for i, id in ipairs(lease_ids) do
    shorten_edited(id, lease_ends[i])
    if lease_ends[i] <= now then ids[#ids + 1] = id end
  end
  return ids
end

-- @rare
local function end_expired_leases()
  for _, id in ipairs(expired_leases()) do
    local request = load_in(HELD, id)
    if request then end_lease(id, request, 'expired') else remove_end(id) end
  end
end

-- True if a lease may have expired, or if its end was edited manually.
local function has_lease_to_end()
  if meta.is_spilled == 1 then return meta.ends_due <= now end
  for _, time in ipairs(lease_ends) do
    if time <= now or time > now + LONGEST_US then return true end
  end
end

-- A waiter or an offer that was deleted manually is detached, so that the server claims again with the same ticket. If the
-- count is 0, the members of the set are left over (`put` in state.lua). The set is counted again and the count not just
-- reduced, because another script may already have counted without the deleted member.
-- @rare
local function check_place(request)
  local part = request.state == OFFERED and 'offers' or 'queue'
  if meta[part] > 0 then
    if redis.call('ZSCORE', key_of(part), own_id) then return end
    count_again(part)
  end
  detach(own_id, request)
end

-- Repairs the script's own request if its place was deleted manually. A lease is forgotten. Also ends the request's own
-- lease if the lease has expired but was not in this script's batch.
local function check_own_request()
  local request = records[own_id]
  if not request or request.state == ENDED or request.state == DETACHED then return end
  if request.state ~= HELD then return check_place(request) end
  local time = stored_end(own_id)
  if time == nil then
    forget({ own_id })
  elseif time <= now - clock_shift then
    end_lease(own_id, request, 'expired')
  end
end

-- Extends an offer or a kept place that is due during a grace, once, because its server could not act during the stall.
-- @rare
local function extend_once(part, id, request, time)
  if now >= meta.grace or request.extended then return false end
  request.extended = 1
  is_shown_changed = true -- an offer that was due is shown again
  store(id, request)
  put_due(part, time, id)
  return true
end

-- Redis's clock was set back, so all stored times are too late by the step. A new grace begins in which no server has been
-- seen, and offers lapse as if they were made now.
-- @rare
local function follow_step_back()
  redis.call('ZREMRANGEBYSCORE', key_of('live'), '(' .. now_text, '+inf')
  meta.grace, meta.graced = now + GRACE_US, 0
  local lapse = now + OFFER_US
  local later = { '(' .. int(lapse), '+inf', 'LIMIT', '0', MAX_OFFERS }
  local offers = meta.offers > 0 and redis.call('ZRANGEBYSCORE', key_of('offers'), unpack(later)) or {}
  for _, id in ipairs(offers) do put_due('offers', lapse, id) end
  advance_tombstones()
  change.back = '+inf'
end

-- After a step back of Redis's clock, each lease is visited once, the latest end first. A lease that would last longer than
-- its ttl from now is shortened.
-- @rare
local function shorten_leases()
  local function shorten(id, time)
    local request = load(id)
    local latest = now + (request and request.ttl or 0)
    if time <= latest then return false end
    set_end(id, latest)
    return true
  end
  if meta.is_spilled == 0 then
    for i, id in ipairs(lease_ids) do shorten(id, lease_ends[i]) end
    change.back = nil
    return
  end
  local found = redis.call(
    'ZREVRANGEBYSCORE', key_of('ends'), change.back, '(' .. now_text, 'WITHSCORES', 'LIMIT', '0', BATCH)
  local below = '('
  for i = 1, #found, 2 do
    if shorten(found[i], tonumber(found[i + 1])) then below = '' end -- leases with the same end as the last one may be left
  end
  change.back = #found == 2 * BATCH and below .. found[#found] or nil
  more = change.back ~= nil
end

-- @rare
local function take_lapsed_offers_back()
  for _, id in ipairs(due_after_bound('offers')) do
    local request = load_in(OFFERED, id)
    if not request then
      remove('offers', id)
    elseif not extend_once('offers', id, request, now + OFFER_US) then
      take_back(id, request)
    end
  end
end

-- @rare
local function forget_old_places()
  local forgotten = {}
  for _, id in ipairs(due_after_bound('detached')) do
    local request = load_in(DETACHED, id)
    if not request then
      remove('detached', id)
    elseif not extend_once('detached', id, request, meta.grace) then
      forgotten[#forgotten + 1] = id
      remove('detached', id)
    end
  end
  forget(forgotten)
end

local function is_set_back() return meta.seen > now + SET_BACK_US end

-- Whether leases, offers, kept places and tombstones are due.
local function due_steps()
  return has_lease_to_end(), now >= meta.offers_due, now >= meta.detached_due,
    tombs ~= '' and struct.unpack(ELEMENT, tombs) <= now
end

-- Ends expired leases, takes lapsed offers back, forgets old places and tombstones. A member has no record if the record
-- was deleted manually.
local function purge()
  if own_only then return check_own_request() end
  if is_set_back() then follow_step_back() end
  if change.back then shorten_leases() end
  if change.dissolving then end_all_requests() elseif change.recall then recall_offers() end
  local leases_due, offers_due, places_due, tombstones_due = due_steps()
  if leases_due then end_expired_leases() end
  if offers_due then take_lapsed_offers_back() end
  if places_due then forget_old_places() end
  if tombstones_due then forget_tombstones() end
  check_own_request()
end

-- True if no earlier work of the resource is due: `purge` and `grant_next` would change nothing. For a resource with a lease.
local function is_quiet()
  local leases_due, offers_due, places_due, tombstones_due = due_steps()
  return next(change) == nil and not (is_set_back() or leases_due or offers_due or places_due or tombstones_due)
    and (meta.queue == 0 or meta.used >= meta.limit)
end
