-- @include ../../../redis/scripts/shared/reply.lua
-- @include layout.lua
-- @include leases.lua
-- @include names.lua
-- @include servers.lua
-- @include state.lua
-- @include transitions.lua

-- The last step of a script: `answer`.

-- The keys expire at the retention time after the last lease's end, or a little later, so that few scripts move the expiry.
-- A deleted semaphore keeps only its tombstones. Sets `meta.expires` and `expiring`. Returns true if the expiries must be
-- written.
local function extend_expiry()
  local wanted, margin = now + REMEMBER_US, 0
  if meta.limit then wanted, margin = meta.till + retention_ms * 1000, math.min(retention_ms * 100, MARGIN_US) end
  if meta.limit and wanted <= meta.expires then return false end
  meta.expires = wanted + margin
  expiring = {
    ends = meta.is_spilled == 1, offers = meta.offers > 0, queue = meta.queue > 0, detached = meta.detached > 0,
    live = expiring.live or meta.queue + meta.offers + meta.detached > 0,
  }
  return true
end

local function set_expiry(key) redis.call('PEXPIREAT', key, int(math.floor(meta.expires / 1000))) end

-- Writes all changes and makes the reply. The head and the records of the state are one HSET.
local function answer(word, ...)
  meta.till = math.max(meta.till, now)
  local has_change = next(change) ~= nil
  if meta.limit or has_change then
    shrink_head()
    if must_list() then list_name() end
    local is_moved = extend_expiry()
    -- A script with `own_only` does not update `seen`: the next script must still see the stall before, and a clock that
    -- was set back.
    meta.seen = own_only and stored_seen or now
    local fields = { 'h', packed_head() }
    if has_change then
      fields[3], fields[4] = 'moving', cmsgpack.pack(change)
    elseif had_change then
      redis.call('HDEL', STATE_KEY, 'moving')
    end
    for id in pairs(unsaved) do
      local packed = cmsgpack.pack(records[id])
      if past_times[id] then
        redis.call('HSET', key_of('past' .. past_numbers[id]), id, struct.pack(PAST_TIME, past_times[id]) .. packed)
      else
        fields[#fields + 1], fields[#fields + 2] = 'r' .. id, packed
      end
    end
    redis.call('HSET', STATE_KEY, unpack(fields))
    if is_moved then set_expiry(STATE_KEY) end
    for part, is_expiring in pairs(expiring) do
      if is_expiring then set_expiry(key_of(part)) end
    end
  else
    -- The semaphore was deleted and is no longer remembered.
    if had_change then redis.call('UNLINK', STATE_KEY, key_of('past1'), key_of('past2')) end
    -- The head was deleted manually: nothing would count the members that this script has added.
    for part in pairs(expiring) do redis.call('UNLINK', key_of(part)) end
  end
  if is_shown_changed and watchers then tell_watchers() end
  if own_only or more or news[1] then
    -- A copy, because the next operation of the command may use a table that stayed empty.
    return reply(word, own_only or (more and 1 or 0), { unpack(news) }, now_text, paused_us, ...)
  end
  return { word, now_text, ... }
end

local function answer_granted(id, request)
  if request.returnable == 2 then
    request.returnable = 1
    store(id, request)
  end
  local remaining = end_of(id) - now
  return answer(
    'GRANTED', request.fencing_token, remaining, request.ttl, request.secret, request.permits,
    request.client_request_id)
end

-- FINISHED: the lease of the request has ended. The reply has the token of the lease if only the asking call was answered
-- with the lease, and "" otherwise. If the asking call has not reported the lease, the call gives the lease back. For
-- another call, the script answers SUPERSEDED, or drops the token before.
-- @rare
local function answer_finished(request)
  return answer('FINISHED', request.cause, request.fencing_token or '')
end

-- FINISHED for a revoked lease that has not ended yet. The lease is never extended and never reported again. As in
-- answer_finished, the reply names the token if only the asking call was answered with the lease: a call that has not
-- reported the lease gives the lease back, and its permits are free at once.
-- @rare
local function answer_revoked(request, attach)
  local is_returnable = request.returnable >= 1 and request.answered == attach
  return answer('FINISHED', 'revoked', is_returnable and request.fencing_token or '')
end

-- The request's own limit may be too small for the request. Then the semaphore is not created.
-- @rare
local function answer_never_fits()
  local limit = meta.limit
  if is_new then meta.limit = nil end
  return answer('NEVER_FITS', limit)
end
