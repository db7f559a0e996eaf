-- Renews a held lease by its secret; with an attach, on behalf of a stream, which may take the lease over.
--
-- KEYS  the resource's keys (prelude)
-- ARGV  1 server  2 request id  3 secret  4 ttl (us; 0: as granted)  5 attach ("": a unary renewal)
--       6 take over: 1 from now on `attach` speaks for the lease, 0 it must already  7 retention (ms)
-- Reply GRANTED token remaining_us ttl_us secret permits | ENDED cause | GONE | SUPERSEDED | AGAIN
-- Holds Renews also while nothing may be granted, unless another Redis may have granted what was held as soon as it ended
--       there. Never brings the end nearer, never puts back what has ended. A longer ttl becomes the lease's.
local server, id, secret, ttl = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local attach, take_over, retention = ARGV[5], ARGV[6] == '1', tonumber(ARGV[7])

local turned = turned_back()
if turned and turned[1] == 'STALE' then return turned end
begin(server, id)
purge()
if unsettled() then return answer(retention, 'AGAIN') end
local r = records[id]
local known = r and r.k == secret
local speaks = attach == '' or take_over or (known and r.a == attach)
if not known or r.s ~= 'H' or not speaks or r.v then
  promote() -- what was purged may have been this very lease
  if not known or (r.s ~= 'H' and r.s ~= 'E') then return answer(retention, 'GONE') end
  -- A stream whose lease was taken over and then ended learns that it was taken over.
  if not speaks then return answer(retention, 'SUPERSEDED') end
  return answer(retention, 'ENDED', r.s == 'E' and r.c or 'revoked')
end

if turned and end_of(id) + shift <= rival then return turned end

local changed = ttl > r.l
if changed then r.l = ttl end
if take_over and r.a ~= attach then
  if is_stream(r.a) and server_of(r.a) ~= server then wake(r.a, id) end
  r.a, r.o, r.w, changed = attach, attach, 0, true
elseif attach == '' and r.o ~= '' then
  r.o, changed = '', true -- another call was answered with it: its stream no longer knows the last end
end
if changed then store(id, r) end
lease_until(id, math.max(end_of(id), now + (ttl > 0 and ttl or r.l)))
promote()
return granted(retention, id, r)
