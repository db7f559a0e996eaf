-- A waiting call says that it is there and takes what it was offered. What the store has forgotten of it is
-- put back at its own ticket.
--
-- KEYS  the resource's keys (prelude)
-- ARGV  1 server  2 request id  3 attach  4 secret  5 permits  6 mode  7 holder_id  8 metadata  9 ttl (us)
--       10 limit if the resource is new ("": then it must exist)  11 ticket  12 retention (ms)
-- Reply GRANTED token remaining_us ttl_us secret permits | WAITING ticket position outlook | SUPERSEDED |
--       FINISHED cause | NEVER_FITS limit | UNKNOWN | AGAIN
-- Holds Acts only for the stored attach. Claiming twice gives the same lease, never a shorter one.
local server, id, attach, secret = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local permits, mode, holder, metadata, ttl = tonumber(ARGV[5]), ARGV[6], ARGV[7], ARGV[8], tonumber(ARGV[9])
local initial_limit, ticket, retention = tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12])

local turned = turned_back()
if turned then return turned end
begin(server, id)
purge()
if unsettled() then return answer(retention, 'AGAIN') end
local r = records[id]
-- What it waited for was deleted; one of the same name made since is not what it asked for.
if not r and moving.cut and ticket <= moving.cut then return answer(retention, 'UNKNOWN') end
if r and r.a ~= attach then return answer(retention, 'SUPERSEDED') end
if r and r.s == 'E' then return answer(retention, 'FINISHED', r.c) end
if not exists(initial_limit) then return answer(retention, 'UNKNOWN') end

if never_fits(permits) and not (r and r.s == 'H') then
  if r then dismiss(id, r) end
  promote()
  return never_fit(retention)
end

if not r then
  r = { a = attach, k = secret, n = permits, x = mode, h = holder, m = metadata, l = ttl, q = now, o = '', w = 0 }
  r.t = ticket
  r.s = 'D'
  meta.ticket = math.max(meta.ticket, ticket)
end
if r.s == 'D' then
  redis.call('ZREM', DETACHED, id)
  put(QUEUE, r.t, id)
  r.s = 'W'
  store(id, r)
end
seen_alive(server)
if r.s == 'O' then
  hold(id, r, attach)
elseif r.s == 'H' then
  lease_until(id, math.max(end_of(id), now + r.l))
end
promote()
if r.s == 'O' then hold(id, r, attach) end
if r.s == 'H' then return granted(retention, id, r) end
return answer(retention, 'WAITING', r.t, redis.call('ZRANK', QUEUE, id) + 1, outlook())
