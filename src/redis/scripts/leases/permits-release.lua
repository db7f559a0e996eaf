-- Ends a lease by its secret.
--
-- KEYS  the resource's keys (prelude)
-- ARGV  1 server  2 request id  3 secret  4 attach ("": the holder releases; else a stream that has said
--       `lost` ends what may be left, and only if no other call was answered with the lease)
--       5 retention (ms)
-- Reply RELEASED | ENDED cause | GONE | SUPERSEDED | AGAIN
-- Holds Releases also while nothing may be granted. Frees nobody else's permits. Released again, it answers as the first time.
local server, id, secret, attach, retention = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])

turned_back()
begin(server, id)
purge()
if unsettled() then return answer(retention, 'AGAIN') end
local r = records[id]
if not r or r.k ~= secret or r.s ~= 'H' or (attach ~= '' and r.o ~= attach) then
  promote() -- what was purged may have been this very lease
  if not r or r.k ~= secret then return answer(retention, 'GONE') end
  if r.s == 'E' then return answer(retention, 'ENDED', r.c) end
  return answer(retention, r.s == 'H' and 'SUPERSEDED' or 'GONE')
end
bury(id, r, attach == '' and 'released' or 'expired')
if attach == '' and is_stream(r.a) then wake(r.a, id) end
promote()
return answer(retention, 'RELEASED')
