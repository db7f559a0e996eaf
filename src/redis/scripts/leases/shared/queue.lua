-- What every script does before and after its own step: `purge` ends what is due, `promote` hands out what is free.

local function due(key)
  local ids = redis.call('ZRANGEBYSCORE', key, '-inf', NOW, 'LIMIT', '0', BATCH)
  if #ids == BATCH then more = true end
  return ids
end

-- As `due`, for a zset whose earliest time is noted: most of the time that says that there is nothing to ask for.
local function due_as_noted(key, name)
  if now < meta[name] then return {} end
  local ids = due(key)
  if #ids < BATCH then
    local left = redis.call('ZRANGEBYSCORE', key, '(' .. NOW, '+inf', 'WITHSCORES', 'LIMIT', '0', '1')
    meta[name] = tonumber(left[2]) or NEVER
  end
  return ids
end

-- The leases that are over. If the first one is not, none is, and its end is known from here on.
local function expired()
  local first = redis.call('ZRANGE', ENDS, '0', '0', 'WITHSCORES')
  local first_end = tonumber(first[2])
  if not first_end then return {} end
  if first_end > now + LONGEST_US then -- a hand wrote it: no lease is held for ever
    local r = load(first[1])
    first_end = now + (r and r.l or 0)
    lease_until(first[1], first_end)
  end
  if first_end <= now then return due(ENDS) end
  ends[first[1]] = first_end
  return {}
end

-- The script's own request, if it is not where its state says: a hand deleted that key. A place and an offer
-- are to be asked for again, under their ticket; a lease is gone, and what has gone is not put back. It may
-- also be a lease past its end that has so many before it that `purge` did not come to it.
local function check_own()
  local r = records[own]
  if not r or r.s == 'E' or r.s == 'D' then return end
  local score = ends[own]
    or tonumber(redis.call('ZSCORE', r.s == 'H' and ENDS or r.s == 'O' and OFFERS or QUEUE, own))
  if r.s == 'H' then
    if score == nil then drop(ENDS, { own }) elseif score <= now - shift then bury(own, r, 'expired') end
  elseif score == nil then
    detach(own, r)
  end
end

-- What came due in a stall had no chance to be claimed, and gets one: one.
local function spare(key, name, id, r, time)
  if now >= meta.grace or r.e then return false end
  r.e = 1
  store(id, r)
  put_due(key, name, time, id)
  return true
end

-- Ends what has expired, lapses offers, forgets what is past its time. A member without a record is what a
-- hand left behind that deleted the state. Without a state there is nothing, or nothing that `exists` will keep.
local function purge()
  if alone then return check_own() end
  if read.limit == nil and not was_moving then return end
  -- Redis's clock was set back: what is measured by it would last longer by as much. Nobody is judged by when it was
  -- last seen, and offers lapse as if made now.
  if meta.seen > now + SET_BACK_US then
    redis.call('ZREMRANGEBYSCORE', LIVE, '(' .. NOW, '+inf')
    meta.grace, meta.graced = now + GRACE_US, 0
    local lapse = now + OFFER_US
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', OFFERS, '(' .. int(lapse), '+inf', 'LIMIT', '0', MOST_OFFERS)) do
      put_due(OFFERS, 'offers', lapse, id)
    end
    moving.back = '+inf'
  end
  -- No lease lasts longer than the longest ttl that it was given: they are gone along once, from the last end on.
  if moving.back then
    local found = redis.call('ZREVRANGEBYSCORE', ENDS, moving.back, '(' .. NOW, 'WITHSCORES', 'LIMIT', '0', BATCH)
    for i = 1, #found, 2 do
      local r = load(found[i])
      local latest = now + (r and r.l or 0)
      if tonumber(found[i + 1]) > latest then lease_until(found[i], latest) end
    end
    moving.back = #found == 2 * BATCH and '(' .. found[#found] or nil
    more = more or moving.back ~= nil
  end
  if moving.dissolving then dissolve() elseif moving.recall then recall() end
  for _, id in ipairs(expired()) do
    local r = load(id)
    if r then bury(id, r, 'expired') else end_lease(id) end
  end
  for _, id in ipairs(due_as_noted(OFFERS, 'offers')) do
    local r = load(id)
    if not r then
      redis.call('ZREM', OFFERS, id)
    elseif not spare(OFFERS, 'offers', id, r, now + OFFER_US) then
      take_back(id, r)
    end
  end
  local dropped = {}
  for _, id in ipairs(due_as_noted(DETACHED, 'detached')) do
    local r = load(id)
    if not r or not spare(DETACHED, 'detached', id, r, meta.grace) then dropped[#dropped + 1] = id end
  end
  drop(DETACHED, dropped)
  drop(ENDED, due_as_noted(ENDED, 'ended'))
  check_own()
end

-- HELD from here on, by the call `attach`, which is answered with it.
local function hold(id, r, attach)
  if r.s == 'O' then redis.call('ZREM', OFFERS, id) end
  r.s, r.a, r.o, r.w, r.g = 'H', attach, attach, 1, now
  lease_until(id, now + r.l)
  store(id, r)
end

local function take_permits(r)
  meta.used = meta.used + r.n
  meta.token = math.max(meta.token + 1, now)
  r.f = meta.token
end

local function fits(permits)
  if meta.used + permits <= meta.limit then return true end
  if next(ends) or redis.call('ZCARD', ENDS) + redis.call('ZCARD', OFFERS) > 0 then return false end
  meta.used = 0 -- a hand deleted the holders: nothing else would ever free their permits
  return permits <= meta.limit
end

-- While the head of the queue fits, it is offered its permits; a head whose server is silent is detached.
-- Every operation ends with it. Nobody behind the head is looked at, so nobody overtakes. True: nobody waits (any
-- more).
local function promote()
  if alone then return false end
  local offered
  for _ = 1, BATCH do
    if not meta.limit or not fits(1) then return false end
    local id = redis.call('ZRANGE', QUEUE, '0', '0')[1]
    if not id then return true end
    local r = load(id)
    if not r then
      redis.call('ZREM', QUEUE, id)
    elseif is_silent(server_of(r.a)) then
      detach(id, r)
    elseif fits(r.n) then
      offered = (offered or redis.call('ZCARD', OFFERS)) + 1
      if offered > MOST_OFFERS then return false end
      redis.call('ZREM', QUEUE, id)
      put_due(OFFERS, 'offers', now + OFFER_US, id)
      take_permits(r)
      r.s, r.g, r.e = 'O', now, nil
      store(id, r)
      wake(r.a, id)
    else
      return false
    end
  end
  more = true
  return false
end

-- Goes once along the queue, a batch at a time: who never fits is told so, and who waits at a server that has gone is
-- detached, else it would be counted and shown as long as whoever holds does. True at the end of the queue.
local function walk()
  local ids = redis.call('ZRANGEBYSCORE', QUEUE, int(meta.cursor), '+inf', 'LIMIT', '0', BATCH)
  for _, id in ipairs(ids) do
    local r = load(id)
    if not r then
      redis.call('ZREM', QUEUE, id)
    else
      meta.cursor = r.t + 1
      if never_fits(r.n) then
        dismiss(id, r)
        wake(r.a, id)
      elseif is_silent(server_of(r.a)) then
        detach(id, r)
      end
    end
  end
  if #ids == BATCH then
    more = true
    return false
  end
  meta.cursor, moving.misfits = 0, nil
  return true
end

-- Walks the queue if there is reason to. A server that has gone is forgotten after a full pass. True after a pass.
local function tidy()
  local gone = redis.call('ZRANGEBYSCORE', LIVE, '-inf', int(now - KEEP_PLACE_US), 'LIMIT', '0', '1')[1]
  if gone and not is_silent(gone) then gone = nil end
  if not meta.limit or not (gone or moving.misfits) then
    meta.cursor = 0 -- the next walk begins at the head
    return false
  end
  if not walk() then return false end
  if gone then redis.call('ZREM', LIVE, gone) end
  return true
end
