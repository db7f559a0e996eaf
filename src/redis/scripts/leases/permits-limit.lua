-- Sets the limit of a semaphore, which then stays until it is deleted; creates it if there is none.
--
-- KEYS  the resource's keys (prelude)
-- ARGV  1 server  2 limit  3 expected limit ("": any)  4 how many holders and waiters to show at most  5 retention (ms)
-- Reply SET view | MISMATCH limit in force | UNKNOWN (one was expected) | AGAIN
-- Holds Takes nothing from holders. Lowered, it grants nothing over the new limit, whatever was offered before; who
--       never fits any more is told. Set again, it answers as the first time.
local server, limit, expected = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local most, retention = tonumber(ARGV[4]), tonumber(ARGV[5])

local turned = turned_back()
if turned then return turned end
begin(server, '')
purge()
if unsettled() or more then return answer(retention, 'AGAIN') end -- leases that have expired are not to be shown
local known = exists(nil)
if expected and not known then return answer(retention, 'UNKNOWN') end
if expected and meta.limit ~= expected and meta.limit ~= limit then return answer(retention, 'MISMATCH', meta.limit) end

if not known then exists(limit) end
local before = meta.limit
meta.limit = limit
redis.call('SET', LIMIT, int(limit))
if limit < before or before == 0 then moving.misfits, meta.cursor = true, 0 end -- in a pause anything may wait
if limit < before and meta.used > limit then
  moving.recall = true
  recall()
end
if unsettled() then
  more = true -- whatever comes next goes on first; setting it again might undo what another has set since
else
  if moving.misfits then walk() end
  promote()
end
return answer(retention, 'SET', view(most))
