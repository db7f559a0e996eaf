-- Ends a wait. It is asked for, not assumed: what was granted meanwhile is either taken after all or, if
-- nobody was told of it, given back.
--
-- KEYS  the resource's keys (prelude)
-- ARGV  1 server  2 request id  3 attach  4 give back: 1 the caller is gone, 0 it takes a grant
--       5 what is given back is the grant with this token, and nothing else ("": whatever the call was granted or waits for)
--       6 retention (ms)
-- Reply GRANTED token remaining_us ttl_us secret permits (only if 4 is 0) | WITHDRAWN outlook | KEPT (given back too
--       late: another call was answered with the lease) | SUPERSEDED | FINISHED cause |
--       AGAIN
-- Holds Acts only for the stored attach; while nothing may be granted it takes no offer and no grant that nobody was told
--       of, and the wait is over all the same. The place is kept for the same request id for a while.
local server, id, attach = ARGV[1], ARGV[2], ARGV[3]
local give_back, token, retention = ARGV[4] == '1', ARGV[5], tonumber(ARGV[6])

local turned = turned_back()
begin(server, id)
purge()
if unsettled() then return answer(retention, 'AGAIN') end
local r = records[id]
if r and r.a ~= attach then return answer(retention, 'SUPERSEDED') end
if r and r.s == 'E' then return answer(retention, 'FINISHED', r.c) end

-- One that is sent again, for its connection broke, may run twice: the first time after the call has the next grant.
local is_meant = token == '' or r and r.s == 'H' and tonumber(r.f) == tonumber(token)
if r and give_back and is_meant then
  if r.s == 'H' and not (r.o == attach and r.w == 1) then return answer(retention, 'KEPT') end
  if r.s == 'O' or r.s == 'H' then take_back(id, r) elseif r.s == 'W' then detach(id, r) end
end
promote()
if r and not give_back then
  if r.s == 'O' then
    if not turned then hold(id, r, attach) end
  elseif r.s == 'H' then
    if not turned then
      lease_until(id, math.max(end_of(id), now + r.l))
    elseif r.o == attach and r.w == 1 then
      take_back(id, r) -- nobody was told of it, and it may be what should not have been granted
    end
  elseif r.s == 'W' then
    detach(id, r)
    promote() -- whoever waited behind it may fit now
  end
  if r.s == 'H' then return granted(retention, id, r) end
end
if turned and not give_back then return answer(retention, turned[1]) end
return answer(retention, 'WITHDRAWN', outlook())
