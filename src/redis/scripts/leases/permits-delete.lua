-- Deletes a semaphore: nobody may hold or wait, unless by force. Its waiters are told that there is none, its holders
-- that they were revoked, a batch at a time: the first with the answer, the others before any other script acts.
--
-- KEYS  the resource's keys (prelude)
-- ARGV  1 server  2 force: 1, else 0  3 id of this deletion  4 retention (ms)
-- Reply DELETED | IN_USE holders waiters | UNKNOWN | AGAIN
-- Holds Sent again within the time of a tombstone, it answers as the first time and takes none made since; deleted
--       anew, there is nothing to delete. From its first step on nothing is granted to anybody who asked before.
local server, force, deletion, retention = ARGV[1], ARGV[2] == '1', ARGV[3], tonumber(ARGV[4])

local turned = turned_back()
if turned then return turned end
begin(server, '')
purge()
if unsettled() then return answer(retention, 'AGAIN') end
if moving.id == deletion then return answer(retention, 'DELETED') end
if not exists(nil) then return answer(retention, moving.at and 'DELETED' or 'UNKNOWN') end
if not force then
  if tidy() then promote() end
  -- Neither leases that have expired nor the waiters of servers that have gone count.
  if more then return answer(retention, 'AGAIN') end
  local holders = redis.call('ZCARD', ENDS) + redis.call('ZCARD', OFFERS)
  local waiters = redis.call('ZCARD', QUEUE)
  if holders + waiters > 0 then return answer(retention, 'IN_USE', holders, waiters) end
end

redis.call('UNLINK', LIMIT)
redis.call('HDEL', STATE, 'limit')
meta.limit = nil
meta.ticket = math.max(meta.ticket, now) -- tickets go on from there, should Redis's clock be set back
moving = { at = now, cut = meta.ticket, id = deletion, dissolving = true }
dissolve()
if unsettled() then more = true end -- whatever comes next goes on first; deleting again would take one made since
return answer(retention, 'DELETED')
