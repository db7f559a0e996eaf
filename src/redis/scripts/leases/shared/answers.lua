-- What a resource looks like to others, and the end of every script.

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
-- holders, waiters, { a holder as in `describe` }, { a waiter: holder_id, metadata, permits, mode, queued us } }.
-- `more` if so many leases have expired and are not ended that `permits out` may be too many.
local function view(most)
  local after = '(' .. NOW
  local holders, held = {}, meta.used
  local over = redis.call('ZRANGEBYSCORE', ENDS, '-inf', NOW, 'LIMIT', 0, BATCH)
  for _, id in ipairs(over) do
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
  if #over == BATCH then more = true end
  local holder_count = redis.call('ZCOUNT', ENDS, after, '+inf') + redis.call('ZCOUNT', OFFERS, after, '+inf')
  return {
    meta.limit or '', meta.token, held, holder_count, redis.call('ZCARD', QUEUE), holders, waiters,
  }
end

-- Writes back what has changed in one step, lets each key expire a retention time after the last lease's end, and
-- makes the reply: the header that every guarded script and permits-inspect begin with, { word, more, own requests to
-- look at, Redis's time (us), us for which grants still pause }, and what belongs to the word. A key not touched here keeps its expiry: its
-- members are all younger than the retention time.
local function answer(retention_ms, word, ...)
  meta.till = math.max(meta.till, now)
  local is_moving = next(moving) ~= nil
  if meta.limit or is_moving then
    -- What acts on its own lease alone is no sign of life: whoever comes after a pause sees that nobody could be, and
    -- whether the clock was set back.
    local fields = alone and {} or { 'seen', NOW }
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
    if #fields > 0 then redis.call('HSET', STATE, unpack(fields)) end
    local gone_at = now + REMEMBER_US -- of a deleted semaphore only the tombstones are kept
    if meta.limit then gone_at = meta.till + retention_ms * 1000 end
    -- The state goes when the script said that read this limit and this end, unless either is new.
    if not meta.limit or not read.limit or meta.till ~= read.till then touched[STATE] = true end
    local expires_at = int(math.floor(gone_at / 1000))
    for key in pairs(touched) do redis.call('PEXPIREAT', key, expires_at) end
  elseif was_moving then
    redis.call('UNLINK', STATE, ENDED) -- deleted, and no longer remembered
  end
  return { word, alone or (more and 1 or 0), offers, NOW, paused, ... }
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
