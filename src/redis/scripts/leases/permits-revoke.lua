#!lua flags=allow-oom
-- Revokes leases, or takes a waiter out of the queue. Without force, a lease is never renewed again, and keeps its permits to
-- its end. With force, the lease ends now. An offer ends now in any case, because no client was told of it. Views show an
-- offer as a holder.
--
-- KEYS   the resource's keys (shared/constants.lua)
-- ARGV   1 server  2 target: "token", "all" or "waiter"  3 force: 1, else 0
--        4 token: the fencing token; waiter: its position; all: the last token before the first step ("": the first step)
--        5 waiter: its enqueue time (us); else the end (us) of the last lease of the step before ("": the first step)
--        6 the request id of that lease  7 retention (ms)
-- Reply  REVOKED count latest_end_us { last_token end_us request_id }
--                                          the number of leases, offers or waiters that this step found; the latest end of
--                                          these leases (0: none keeps permits); where the next step goes on ({}: done)
--        UNKNOWN | AGAIN
-- Holds  One step visits at most BATCH leases and offers, in the order of their ends. A renewal moves a lease only behind the
--        step, so the steps together miss no lease, and a revoked lease is counted once. "all" leaves the leases alone
--        that were granted after the first step. Acts also while grants pause, and then grants nothing. A late command does
--        nothing.
--
-- @include shared/answer.lua
-- @include shared/epoch-check.lua
-- @include shared/find-or-create.lua
-- @include shared/grant-next.lua
-- @include shared/purge.lua
local server, target, force = ARGV[1], ARGV[2], ARGV[3] == '1'
local value, after_end, after_id, retention_ms = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6], tonumber(ARGV[7])

local refusal = epoch_check()
if refusal and (refusal[1] == 'STALE' or refusal[1] == 'LAYOUT') then return refusal end
begin(server, '')
purge()
if is_unfinished() then return answer(retention_ms, 'AGAIN') end
if not find_or_create(nil) then return answer(retention_ms, 'UNKNOWN') end

local count, latest_end, continuation = 0, 0, {}

-- WAITING or OFFERED -> ENDED, as a revoked lease. The waiting call learns of the end by its next claim.
local function dismiss_revoked(id, request)
  if request.state == OFFERED then
    remove('offers', id)
  else
    remove('queue', id)
    meta.used = meta.used + request.permits -- `end_lease` subtracts them
  end
  request.revoked = 1
  end_lease(id, request, 'revoked')
  send_hint(request.attach, id)
  count = count + 1
end

local function revoke_lease(id, request, time)
  -- A stream ends at once. A waiting call that was not told of its direct grant gives the lease back.
  if is_stream(request.attach) or request.returnable == 2 then send_hint(request.attach, id) end
  request.revoked = 1
  if force then
    end_lease(id, request, 'revoked')
  else
    store(id, request)
    is_shown_changed = true
    latest_end = math.max(latest_end, time)
  end
  count = count + 1
end

-- The waiter with this enqueue time at this position or up to BATCH places before, because the queue moves on.
local function revoke_waiter(position, queued_at)
  local first, last = int(math.max(0, position - 1 - BATCH)), int(position - 1)
  local ids = meta.queue > 0 and redis.call('ZRANGE', key_of('queue'), first, last) or {}
  for i = #ids, 1, -1 do
    local request = load_in(WAITING, ids[i])
    if request and request.queued_at == queued_at then return dismiss_revoked(ids[i], request) end
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
  if is_more and not (target == 'token' and count > 0) then continuation = { token, time, id } end
end

if target == 'waiter' then revoke_waiter(value, after_end) else revoke_holders(value or meta.last_token) end
grant_next()
return answer(retention_ms, 'REVOKED', count, latest_end, continuation)
