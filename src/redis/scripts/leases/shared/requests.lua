-- Which server speaks for a request, and the steps from one of its states to another.

local function server_of(attach) return string.match(attach, '^[^.]*') end
local function is_stream(attach) return string.sub(attach, -1) == 's' end

-- Tells the server that speaks for a request to look at it again. A hint: it may be lost, and the next
-- touch or renewal brings the same news.
local function wake(attach, id)
  local server = server_of(attach)
  if server == self then
    offers[#offers + 1] = id
  else
    -- pcall: a user without the right to publish must not stop a script half-way for the sake of a hint
    redis.pcall('SPUBLISH', string.match(STATE, '^[^}]*}') .. ':wake:' .. server, id .. STATE)
  end
end

local function seen_alive(server)
  put(LIVE, now, server)
  touched[QUEUE] = true -- who waits there may do so for longer than an idle resource is kept
end

-- A server that has not spoken since a grace that is over had its chance: only its first pause is a stall.
local function is_silent(server)
  if server == self then return false end
  local last = tonumber(redis.call('ZSCORE', LIVE, server)) or 0
  return now - last > SILENT_US and (now >= meta.grace or last < meta.graced - GRACE_US)
end

local function next_ticket()
  meta.ticket = math.max(meta.ticket + 1, now)
  return meta.ticket
end

-- Never later than its longest ttl from now, even if Redis's clock was set back since.
local function end_of(id)
  local time = ends[id] or tonumber(redis.call('ZSCORE', ENDS, id)) or now
  local r = records[id]
  return r and r.l and math.min(time, now + r.l) or time
end

local function lease_until(id, time)
  put(ENDS, time, id)
  ends[id] = time
  meta.till = math.max(meta.till, time)
end

local function end_lease(id)
  redis.call('ZREM', ENDS, id)
  ends[id] = nil
end

-- WAITING or DETACHED -> DETACHED: skipped by promote, its ticket kept for the same request.
local function detach(id, r)
  redis.call('ZREM', QUEUE, id)
  put_due(DETACHED, 'detached', now + KEEP_PLACE_US, id)
  r.s, r.e = 'D', nil
  store(id, r)
end

-- OFFERED or HELD, but nobody was told -> DETACHED at its own ticket; the token is skipped.
local function take_back(id, r)
  if r.s == 'O' then redis.call('ZREM', OFFERS, id) else end_lease(id) end
  meta.used = meta.used - r.n
  detach(id, r)
end

-- HELD -> ENDED, remembered with its cause.
local function bury(id, r, cause)
  end_lease(id)
  meta.used = meta.used - r.n
  store(id, { s = 'E', c = cause, a = r.a, k = r.k })
  put_due(ENDED, 'ended', now + REMEMBER_US, id)
  local excess = redis.call('ZCARD', ENDED) - MAX_TOMBSTONES
  if excess > 0 then drop(ENDED, redis.call('ZRANGE', ENDED, 0, math.min(excess, BATCH) - 1)) end
end

-- WAITING or DETACHED -> forgotten: it never fits.
local function dismiss(id, r) drop(r.s == 'W' and QUEUE or DETACHED, { id }) end

-- The limit was lowered below what is out: what was offered and not yet claimed goes back to its own ticket. Claimed
-- now, it would be a grant over the limit; and whoever came first is to be offered what is left.
local function recall()
  local ids = redis.call('ZRANGE', OFFERS, 0, BATCH - 1)
  for _, id in ipairs(ids) do
    local r = load(id)
    redis.call('ZREM', OFFERS, id)
    if r then
      meta.used = meta.used - r.n
      r.s, r.e = 'W', nil
      put(QUEUE, r.t, id)
      store(id, r)
    end
  end
  if #ids < BATCH then moving.recall = nil end
end

-- The semaphore was deleted: who holds is told that it was revoked, who waits that there is nothing to wait for.
local function dissolve()
  local left = BATCH
  local function first(key)
    local ids = left > 0 and redis.call('ZRANGE', key, 0, left - 1) or {}
    left = left - #ids
    return ids
  end
  for _, id in ipairs(first(ENDS)) do
    local r = load(id)
    if r and is_stream(r.a) then wake(r.a, id) end
    if r then bury(id, r, 'revoked') else end_lease(id) end
  end
  for _, key in ipairs({ OFFERS, QUEUE, DETACHED }) do
    local ids = first(key)
    for _, id in ipairs(ids) do
      local r = load(id)
      if r then wake(r.a, id) end
    end
    drop(key, ids)
  end
  if left == 0 then return end
  meta.used, moving.dissolving = 0, nil
  redis.call('UNLINK', LIVE)
end

-- True while a bounded step has not come to its end before which nothing may be granted or told: the script then
-- answers AGAIN, and is run again.
local function unsettled() return not alone and (moving.recall or moving.dissolving) end
