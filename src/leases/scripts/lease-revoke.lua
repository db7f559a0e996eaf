#!lua flags=allow-oom
-- Revokes leases, or takes a waiter out of the queue. Without force, a lease is never renewed again, and keeps its permits to
-- its end. With force, the lease ends now. An offer ends now in any case, because no client was told of it. Views show an
-- offer as a holder.
--
-- KEYS   the resource's keys (shared/layout.lua)
-- Args   target: "token", "lease", "all" or "waiter"  force: 1, else 0
--        given_token: for "token" and "lease"; for "all" the last token before the first step ("": the first step)
--        own_request: for "lease", its request id ("": another target)  position, enqueue_time (us): for "waiter"
--        pass: "first", "later" or "found" (below)
--        after_end (us), after_id: the last lease of the step before (the end "" or 0: a pass begins)
-- Reply  REVOKED count latest_end_us { last_token pass end_us request_id }
--                                          the number of leases, offers or waiters that this step found; the latest end of
--                                          these leases (0: none keeps permits); where the next step goes on ({}: done)
--        UNKNOWN | AGAIN
-- Holds  One step visits at most BATCH leases and offers, in the order of their ends. The steps from the earliest end to the
--        latest are a pass. A renewal moves a lease only to a later place in this order, so a pass misses a lease only if
--        Redis's clock was set back meanwhile, or if a failover has undone a step. So another pass follows a pass of
--        several steps, until a pass finds only leases that were revoked before. Later passes count only the leases that
--        they revoke. "all" does not revoke leases that were granted after the first step. Acts also while grants pause,
--        and then grants nothing. A late command does nothing.
--
-- @include shared/answers.lua
-- @include shared/epoch-check.lua
-- @include shared/purge.lua
-- @include shared/queue.lua
-- @include shared/state.lua
local target, force, given_token, own_request, position, enqueue_time, pass, after_end, after_id = ...
force, given_token, position = force == '1', tonumber(given_token), tonumber(position)
enqueue_time, after_end = tonumber(enqueue_time), tonumber(after_end)

local refusal = epoch_check()
if refusal and (refusal[1] == 'STALE' or refusal[1] == 'LAYOUT') then return refusal end
begin('')
purge()
if is_unfinished() then return answer('AGAIN') end
if not find_or_create(nil) then return answer('UNKNOWN') end

local count, latest_end, continuation = 0, 0, {}

-- A claim queues a request again if Redis has lost the request. The kept ticket tells the claim that the request was
-- revoked, even after its tombstone is forgotten.
local function remember_ticket(request)
  local key = key_of('revoked')
  redis.call('ZADD', key, now_text, int(request.ticket))
  redis.call('ZREMRANGEBYRANK', key, '0', -1 - MOST_TICKETS)
  redis.call('PEXPIREAT', key, int(math.floor((now + KEEP_TICKET_US) / 1000)))
end

-- WAITING or OFFERED -> ENDED, as a revoked lease. The waiting call learns of the end by its next claim.
local function dismiss_revoked(id, request)
  if request.state == OFFERED then
    remove('offers', id)
    meta.used = meta.used - request.permits
  else
    remove('queue', id)
  end
  store(id, {
    state = ENDED, cause = 'revoked', attach = request.attach, secret = request.secret, identity = request.identity,
  })
  add_tombstone(id)
  remember_ticket(request)
  send_hint(request.attach, id)
  count = count + 1
end

local function revoke_lease(id, request, time)
  local is_unheard, is_new = request.returnable == 2, force or not request.revoked
  -- A stream ends at once. A waiting call that was not told of its direct grant gives the lease back.
  if is_holding(request.attach) or is_unheard then send_hint(request.attach, id) end
  if is_unheard then remember_ticket(request) end
  request.revoked = 1
  if force then
    end_lease(id, request, 'revoked')
  else
    store(id, request)
    is_shown_changed = true
    latest_end = math.max(latest_end, math.min(time + clock_shift, now + request.ttl)) -- as in resource_view
  end
  if is_new and pass == 'later' then pass = 'found' end
  if is_new or pass == 'first' or target == 'token' then count = count + 1 end
end

local function revoke_known(id, token)
  local request = load_in(HELD, id)
  if request and request.fencing_token == token then revoke_lease(id, request, stored_end(id)) end
end

-- The waiter with this enqueue time that is nearest to the position, at most BATCH places away, because positions change.
local function revoke_waiter()
  local first = math.max(0, position - 1 - BATCH)
  local ids = meta.queue > 0 and redis.call('ZRANGE', key_of('queue'), int(first), int(position - 1 + BATCH)) or {}
  for distance = 0, BATCH do
    for _, place in ipairs({ position - distance, position + distance }) do
      local id = ids[place - first]
      local request = id and load_in(WAITING, id)
      if request and request.queued_at == enqueue_time then return dismiss_revoked(id, request) end
    end
  end
end

-- The rank in `ends` of the first lease behind the cursor. The lease at the cursor may have moved or ended.
local function rank_after(time, id)
  local key, text = key_of('ends'), int(time)
  local low, high = redis.call('ZCOUNT', key, '-inf', '(' .. text), redis.call('ZCOUNT', key, '-inf', text)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if redis.call('ZRANGE', key, middle, middle)[1] > id then high = middle else low = middle + 1 end
  end
  return low
end

-- The ids and ends of the next `most` leases behind the cursor, the earliest end first; all of them if they are in the head.
-- Also returns whether more may follow.
local function leases_after(time, id, most)
  local ids, ends = {}, {}
  if meta.is_spilled == 1 then
    local rank = rank_after(time, id)
    local members = redis.call('ZRANGE', key_of('ends'), rank, rank + most - 1, 'WITHSCORES')
    for i = 1, #members, 2 do ids[#ids + 1], ends[#ends + 1] = members[i], tonumber(members[i + 1]) end
    return ids, ends, #ids == most
  end
  for i, other in ipairs(lease_ids) do
    local other_end = lease_ends[i]
    if other_end > time or other_end == time and other > id then ids[#ids + 1], ends[#ends + 1] = other, other_end end
  end
  return ids, ends, false
end

local function is_meant(request, token)
  if target == 'token' then return request.fencing_token == token end
  return request.fencing_token <= token
end

local function revoke_holders(token)
  local offers = meta.offers > 0 and redis.call('ZRANGE', key_of('offers'), '0', MAX_OFFERS - 1) or {}
  for _, id in ipairs(offers) do
    local request = count < BATCH and load_in(OFFERED, id)
    if request and is_meant(request, token) then dismiss_revoked(id, request) end
  end
  local time, id = after_end or 0, after_id
  -- Leases that have expired are left out. No request id is behind 'z'.
  if time < now - clock_shift then time, id = now - clock_shift, 'z' end
  local is_more = count == BATCH
  if not is_more then
    local ids, ends
    ids, ends, is_more = leases_after(time, id, BATCH - count)
    for i, other in ipairs(ids) do
      local request = load_in(HELD, other)
      if request and is_meant(request, token) then revoke_lease(other, request, ends[i]) end
    end
    time, id = ends[#ends], ids[#ids]
  end
  if target == 'token' and count > 0 then return end
  if is_more then
    continuation = { token, pass, time, id }
  elseif after_id ~= '' and pass ~= 'later' then
    continuation = { token, 'later', 0, '' }
  end
end

if target == 'waiter' then
  revoke_waiter()
elseif target == 'lease' then
  revoke_known(own_request, given_token)
else
  revoke_holders(given_token or meta.last_token)
end
grant_next()
return answer('REVOKED', count, latest_end, continuation)
