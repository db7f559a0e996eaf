-- What every script of the permits engine shares. The embedding step puts what a script uses of this file in
-- front of it, so a script reads `KEYS` and `ARGV` into named locals, decides, and ends with `answer(...)`.
--
-- One resource (a lock or a semaphore) is seven keys, a semaphore eight, all in the slot of its bucket:
local STATE = KEYS[1]    -- hash: the numbers in `meta` below, and `r<request_id>`: that request's record
local ENDS = KEYS[2]     -- zset: HELD requests by the end of their lease (us)
local OFFERS = KEYS[3]   -- zset: OFFERED requests by the moment the offer lapses (us)
local QUEUE = KEYS[4]    -- zset: WAITING requests by ticket
local DETACHED = KEYS[5] -- zset: places kept for a call that went away, by the moment they are dropped (us)
local ENDED = KEYS[6]    -- zset: tombstones of ended leases, by the moment they are dropped (us)
local LIVE = KEYS[7]     -- zset: servers with waiters here, by the time of their last script (us)
local LIMIT = KEYS[8]    -- string: a limit that was set, not only brought by a request; it does not expire
--
-- A record (packed) has these fields:
--   s state: W waiting, D detached, O offered, H held, E ended
--   a attach "<server>.<n>", a stream's ends with "s": the call that speaks for the request
--   k the lease's secret
--   n permits taken, x mode, h holder_id, m metadata (opaque), l ttl (us), t ticket
--   f fencing token, g time of the grant (us), q time of the queueing (us)
--   o attach of the only call that was answered with this lease, "" once another one was
--   w 1 while the lease may be given back by `o`, which was granted it; c cause of the end; v 1 if revoked
--   e 1 once an offer or a kept place was given more time after a stall
--
-- Always true between scripts: used = sum of n over ENDS and OFFERS; a request is in exactly one zset, the
-- one of its state; tokens and tickets only rise. Every time is one reading of Redis's clock in microseconds,
-- below 2^53, so a Lua number holds it exactly. A key's own expiry only collects garbage.

local BATCH = 64                 -- a script purges and promotes at most this many of each and answers `more`
local MOST_OFFERS = 256          -- no more than these are out at a time: each is to be claimed before it lapses
local OFFER_US = 3000000         -- an offer not claimed by then lapses
local SILENT_US = 4000000        -- a server unseen for this long has its waiters detached
local STALL_US = 3000000         -- nobody seen for this long: Redis stalled, so nobody is judged by silence ...
local GRACE_US = 3000000         -- ... for this long
local KEEP_PLACE_US = 10000000   -- a detached place is kept this long
local REMEMBER_US = 60000000     -- a tombstone is kept this long ...
local MAX_TOMBSTONES = 10000     -- ... unless so many younger ones follow
local NEVER = 9007199254740991   -- a time that does not come
local LONGEST_US = 86400000000   -- the longest ttl that a server can be configured to give

-- For arguments: exact, and a tenth of what Redis takes to write a Lua number (%.17g).
local function int(number) return string.format('%d', number) end

local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local NOW = int(now)
if now >= 9007199254740992 then return redis.error_reply('HOLDFAST clock is past 2^53 us') end

-- limit (nil: unknown resource), used, token, ticket; seen: the last script; grace: nobody is judged until then,
-- graced: the end of the grace before it; till: the latest end of a lease; cursor: how far `walk` has come;
-- offers, detached, ended: nothing in that zset is due before then, though nothing need be due then either
local NUMBERS = { 'limit', 'used', 'token', 'ticket', 'seen', 'grace', 'till', 'graced', 'cursor', 'offers',
  'detached', 'ended' }
local meta = {}
local read = {}        -- the numbers as they were read; `answer` writes what has changed
-- What a changed limit or a deletion has left to do or to remember, empty for nearly all resources:
--   recall: offers are being taken back; misfits: who never fits is being told; dissolving: a deleted semaphore's
--   requests are being ended; at, cut: when it was deleted (us), and the last ticket before that
local moving = {}
local was_moving = false
local made = false     -- the limit is the one that this script's request brought
local records = {}     -- request id -> record, as read or changed by this script
local unsaved = {}     -- request id -> true: its record is written by `answer`
local touched = {}     -- key -> true: its own expiry is set by `answer`
local ends = {}        -- request id -> end of its lease, of some that are in ENDS now
local more = false     -- purge or promote stopped at BATCH
local offers = {}      -- requests of the calling server that became OFFERED
local self = ''        -- the calling server
local own = ''         -- the request the script is about

local function unpack_record(packed) return packed and cmsgpack.unpack(packed) or nil end

-- Reads the numbers and the request's own record; applies the stall rule. Every script starts with it.
local function begin(server, id)
  self, own = server, id
  local v = redis.call('HMGET', STATE, 'moving', 'r' .. id, unpack(NUMBERS))
  for i, name in ipairs(NUMBERS) do
    local number = tonumber(v[i + 2])
    read[name], meta[name] = number, number or 0
  end
  meta.limit, meta.seen = read.limit, read.seen or now
  if now - meta.seen > STALL_US then
    meta.graced = meta.grace -- a name that is just rarely used has one such pause after the other
    meta.grace = now + GRACE_US
  end
  was_moving = v[1] ~= false
  moving = unpack_record(v[1]) or moving
  if moving.at and now - moving.at > REMEMBER_US and not moving.dissolving then moving.at, moving.cut = nil, nil end
  records[id] = unpack_record(v[2])
  return records[id]
end

-- Finds the limit, or makes the resource if it is new. What the other keys have then is of one whose state a hand
-- has deleted, or of one so long idle that only the limit which was set is left.
local function exists(initial_limit)
  if meta.limit == nil then
    local limit = LIMIT and tonumber(redis.call('GET', LIMIT))
    made = limit == nil
    meta.limit = limit or initial_limit
    if meta.limit ~= nil and not was_moving then
      redis.call('UNLINK', unpack(KEYS, 2, 7))
      meta.offers, meta.detached, meta.ended = NEVER, NEVER, NEVER
    end
  end
  return meta.limit ~= nil
end

-- A limit of 0 is a pause: everybody waits.
local function never_fits(permits) return meta.limit > 0 and permits > meta.limit end

local function load(id)
  local r = records[id]
  if r == nil then
    r = unpack_record(redis.call('HGET', STATE, 'r' .. id))
    records[id] = r
  end
  return r
end

local function store(id, r)
  records[id] = r
  unsaved[id] = true
end

local function put(key, time, member)
  redis.call('ZADD', key, int(time), member)
  touched[key] = true
end

-- As `put`, into a zset whose earliest time is noted: 'offers', 'detached' or 'ended'.
local function put_due(key, name, time, member)
  put(key, time, member)
  meta[name] = math.min(meta[name], time)
end

local function drop(key, ids)
  if #ids == 0 then return end
  local fields = {}
  for i, id in ipairs(ids) do
    fields[i] = 'r' .. id
    records[id], unsaved[id] = nil, nil
  end
  redis.call('HDEL', STATE, unpack(fields))
  redis.call('ZREM', key, unpack(ids))
end

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
    redis.pcall('PUBLISH', string.match(STATE, '^[^:]*') .. ':wake:' .. server, id .. STATE)
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

local function end_of(id) return ends[id] or tonumber(redis.call('ZSCORE', ENDS, id)) or now end

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
  local held = redis.call('ZRANGE', ENDS, 0, BATCH - 1)
  local left = #held == BATCH
  for _, id in ipairs(held) do
    local r = load(id)
    if r then
      if is_stream(r.a) then wake(r.a, id) end
      bury(id, r, 'revoked')
    else
      end_lease(id)
    end
  end
  for _, key in ipairs({ OFFERS, QUEUE, DETACHED }) do
    local ids = redis.call('ZRANGE', key, 0, BATCH - 1)
    left = left or #ids == BATCH
    for _, id in ipairs(ids) do
      local r = load(id)
      if r then wake(r.a, id) end
    end
    drop(key, ids)
  end
  if left then return end
  meta.used, moving.dissolving = 0, nil
  redis.call('UNLINK', LIVE)
end

-- True while a bounded step has not come to its end before which nothing may be granted or told: the script then
-- answers AGAIN, and is run again.
local function unsettled() return moving.recall or moving.dissolving end

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
    if score == nil then drop(ENDS, { own }) elseif score <= now then bury(own, r, 'expired') end
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
  if read.limit == nil and not was_moving then return end
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

-- What others may see of a holder: { holder_id, metadata, token, permits, mode, granted us, end us, revoked }.
local function describe(id, ends)
  local r = load(id)
  if not r then return {} end
  return { r.h, r.m, r.f, r.n, r.x, r.g, ends, r.v and 1 or 0 }
end

-- { us until the earliest end (-1: none), waiters, the holder whose lease ends first or nothing, us until then,
--   limit ("": unknown), permits out }
local function outlook()
  local first = redis.call('ZRANGE', ENDS, '0', '0', 'WITHSCORES')
  local lapse = redis.call('ZRANGE', OFFERS, '0', '0', 'WITHSCORES')
  local earliest = math.min(tonumber(first[2]) or math.huge, tonumber(lapse[2]) or math.huge)
  local holder = first[1] or lapse[1]
  return {
    earliest == math.huge and -1 or earliest - now,
    redis.call('ZCARD', QUEUE),
    holder and describe(holder, first[2] or lapse[2]) or {},
    holder and (first[2] or lapse[2]) - now or 0,
    meta.limit or '', meta.used,
  }
end

-- A resource as others may see it, with at most `most` holders and waiters: { limit ("": unknown), token, permits out,
-- holders, waiters, { a holder as in `describe` }, { a waiter: holder_id, metadata, permits, mode, queued us } }
local function view(most)
  local after = '(' .. NOW
  local holders, held = {}, meta.used
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', ENDS, '-inf', NOW, 'LIMIT', 0, BATCH)) do
    local r = load(id)
    held = held - (r and r.n or 0)
  end
  for _, key in ipairs({ ENDS, OFFERS }) do
    local found = redis.call('ZRANGEBYSCORE', key, after, '+inf', 'WITHSCORES', 'LIMIT', 0, most - #holders)
    for i = 1, #found, 2 do holders[#holders + 1] = describe(found[i], found[i + 1]) end
  end
  local waiters = {}
  for i, id in ipairs(redis.call('ZRANGE', QUEUE, 0, most - 1)) do
    local r = load(id)
    waiters[i] = r and { r.h, r.m, r.n, r.x, r.q } or {}
  end
  local holder_count = redis.call('ZCOUNT', ENDS, after, '+inf') + redis.call('ZCOUNT', OFFERS, after, '+inf')
  return { meta.limit or '', meta.token, held, holder_count, redis.call('ZCARD', QUEUE), holders, waiters }
end

-- Writes back what has changed in one step, lets each key expire a retention time after the last lease's end, and
-- makes the reply: { word, more, own requests to look at, ... }. A key not touched here keeps its expiry: its
-- members are all younger than the retention time.
local function answer(retention_ms, word, ...)
  meta.till = math.max(meta.till, now)
  local is_moving = next(moving) ~= nil
  if meta.limit or is_moving then
    local fields = { 'seen', NOW }
    for _, name in ipairs(NUMBERS) do
      local number = meta[name]
      if number and number ~= read[name] then
        fields[#fields + 1] = name
        fields[#fields + 1] = int(number)
      end
    end
    if is_moving then
      fields[#fields + 1], fields[#fields + 2] = 'moving', cmsgpack.pack(moving)
    elseif was_moving then
      redis.call('HDEL', STATE, 'moving')
    end
    for id in pairs(unsaved) do
      fields[#fields + 1] = 'r' .. id
      fields[#fields + 1] = cmsgpack.pack(records[id])
    end
    redis.call('HSET', STATE, unpack(fields))
    local gone_at = now + REMEMBER_US -- of a deleted semaphore only the tombstones are kept
    if meta.limit then gone_at = meta.till + retention_ms * 1000 end
    -- The state goes when the script said that read this limit and this end, unless either is new.
    if not meta.limit or not read.limit or meta.till ~= read.till then touched[STATE] = true end
    local expires_at = int(math.floor(gone_at / 1000))
    for key in pairs(touched) do redis.call('PEXPIREAT', key, expires_at) end
  elseif was_moving then
    redis.call('UNLINK', STATE, ENDED) -- deleted, and no longer remembered
  end
  return { word, more and 1 or 0, offers, ... }
end

local function granted(retention_ms, id, r)
  local remaining = end_of(id) - now
  return answer(retention_ms, 'GRANTED', r.f, remaining, r.l, r.k, r.n)
end

local function never_fit(retention)
  local limit = meta.limit
  if made then meta.limit = nil end -- a semaphore too small for the request that brought it is not made
  return answer(retention, 'NEVER_FITS', limit)
end
