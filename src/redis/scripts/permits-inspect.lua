-- Shows a resource, changing nothing: what has expired is left out, and purged by whoever writes next.
--
-- KEYS  the resource's seven keys (prelude)
-- ARGV  1 how many holders and waiters at most
-- Reply { limit ("": unknown), token, permits held, holders, waiters, { a holder as in `describe` },
--         { a waiter: holder_id, metadata, permits, mode, queued us } }
-- Holds Read-only, so a replica may answer it.
local most = tonumber(ARGV[1])

begin('', '')
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
return {
  meta.limit and meta.limit or '', meta.token, held,
  holder_count, redis.call('ZCARD', QUEUE), holders, waiters,
}
