-- Every script calls `purge` before its own step. `purge` ends leases, offers, places and tombstones that are due.
-- @include unfinished.lua

local function due(key)
  local ids = redis.call('ZRANGEBYSCORE', key, '-inf', NOW_TEXT, 'LIMIT', '0', BATCH)
  if #ids == BATCH then more = true end
  return ids
end

-- As `due`, for a sorted set with a lower bound in `meta`. The bound spares most scripts the command.
local function due_after_bound(key, name)
  if now < meta[name] then return {} end
  local ids = due(key)
  if #ids < BATCH then
    local left = redis.call('ZRANGEBYSCORE', key, '(' .. NOW_TEXT, '+inf', 'WITHSCORES', 'LIMIT', '0', '1')
    meta[name] = tonumber(left[2]) or NEVER
  end
  return ids
end

-- The expired leases. If the first lease has not expired, no lease has, and `known_ends` keeps the first end.
local function expired_leases()
  local first = redis.call('ZRANGE', ENDS_KEY, '0', '0', 'WITHSCORES')
  local first_end = tonumber(first[2])
  if not first_end then return {} end
  if first_end > now + LONGEST_US then -- the end was edited manually in Redis: no lease lasts that long
    local request = load(first[1])
    first_end = now + (request and request.ttl or 0)
    set_end(first[1], first_end)
  end
  if first_end <= now then return due(ENDS_KEY) end
  known_ends[first[1]] = first_end
  return {}
end

-- Repairs the script's own request if its sorted set was deleted manually. A waiter or an offer is detached, so that the
-- server claims again with the same ticket. A lease is forgotten. Also ends the request's own lease if the lease has
-- expired but was not in this script's batch.
local function check_own_request()
  local request = records[own_id]
  if not request or request.state == ENDED or request.state == DETACHED then return end
  local key = request.state == HELD and ENDS_KEY or request.state == OFFERED and OFFERS_KEY or QUEUE_KEY
  local score = known_ends[own_id] or tonumber(redis.call('ZSCORE', key, own_id))
  if request.state == HELD then
    if score == nil then
      forget(ENDS_KEY, { own_id })
    elseif score <= now - clock_shift then
      end_lease(own_id, request, 'expired')
    end
  elseif score == nil then
    detach(own_id, request)
  end
end

-- Gives an offer or a kept place that is due in a grace more time, once: its server had no chance to act in the stall.
local function extend_once(key, name, id, request, time)
  if now >= meta.grace or request.extended then return false end
  request.extended = 1
  store(id, request)
  put_due(key, name, time, id)
  return true
end

-- Ends expired leases, takes lapsed offers back, forgets old places and tombstones. A member without a record is left
-- over from a state that was deleted manually. Without a state, `find_or_create` deletes the other keys anyway.
local function purge()
  if own_only then return check_own_request() end
  if stored.limit == nil and not had_change then return end
  -- Redis's clock was set back, so stored times would come later by the step. All servers count as unseen within a new
  -- grace, and offers lapse as if they were made now.
  if meta.seen > now + SET_BACK_US then
    redis.call('ZREMRANGEBYSCORE', LIVE_KEY, '(' .. NOW_TEXT, '+inf')
    meta.grace, meta.graced = now + GRACE_US, 0
    local lapse = now + OFFER_US
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', OFFERS_KEY, '(' .. int(lapse), '+inf', 'LIMIT', '0', MAX_OFFERS)) do
      put_due(OFFERS_KEY, 'offers', lapse, id)
    end
    change.back = '+inf'
  end
  -- After a step back of Redis's clock, each lease is visited once, the latest end first. A lease that would last
  -- longer than its ttl from now is shortened.
  if change.back then
    local found = redis.call(
      'ZREVRANGEBYSCORE', ENDS_KEY, change.back, '(' .. NOW_TEXT, 'WITHSCORES', 'LIMIT', '0', BATCH)
    local below = '('
    for i = 1, #found, 2 do
      local request = load(found[i])
      local latest = now + (request and request.ttl or 0)
      if tonumber(found[i + 1]) > latest then
        set_end(found[i], latest)
        below = '' -- leases with the same end as the last one may be left
      end
    end
    change.back = #found == 2 * BATCH and below .. found[#found] or nil
    more = change.back ~= nil
  end
  if change.dissolving then end_all_requests() elseif change.recall then recall_offers() end
  for _, id in ipairs(expired_leases()) do
    local request = load(id)
    if request then end_lease(id, request, 'expired') else remove_end(id) end
  end
  for _, id in ipairs(due_after_bound(OFFERS_KEY, 'offers')) do
    local request = load(id)
    if not request then
      redis.call('ZREM', OFFERS_KEY, id)
    elseif not extend_once(OFFERS_KEY, 'offers', id, request, now + OFFER_US) then
      take_back(id, request)
    end
  end
  local forgotten = {}
  for _, id in ipairs(due_after_bound(DETACHED_KEY, 'detached')) do
    local request = load(id)
    if not request or not extend_once(DETACHED_KEY, 'detached', id, request, meta.grace) then
      forgotten[#forgotten + 1] = id
    end
  end
  forget(DETACHED_KEY, forgotten)
  forget(ENDED_KEY, due_after_bound(ENDED_KEY, 'ended'))
  check_own_request()
end
