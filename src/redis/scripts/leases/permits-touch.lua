-- A server with waiters here says that it lives, and asks after some of them. Also the step that goes on
-- where a bounded script answered `more`; then it names no waiter.
--
-- KEYS  the resource's keys (prelude)
-- ARGV  1 server  2 retention (ms)  3.. at most 64 pairs: request id, attach
-- Reply DONE outlook { a word for each pair: its position in the queue, or LOOK (claim it: it was offered,
--       detached, ended or forgotten), or SUPERSEDED } | AGAIN
-- Holds Judges nobody's lease; brings offers whose hint was lost.
local server, retention = ARGV[1], tonumber(ARGV[2])
local last = #ARGV - 2
local asks = last > 2

local turned = turned_back()
if turned then return turned end
begin(server, asks and ARGV[3] or '')
if asks and meta.limit then seen_alive(server) end
purge()
if unsettled() then return answer(retention, 'AGAIN') end
if asks then
  for _, id in ipairs(redis.call('ZRANGE', OFFERS, 0, BATCH - 1)) do
    local r = load(id)
    if r and server_of(r.a) == server then wake(r.a, id) end
  end
end
promote()

if tidy() then promote() end -- whoever waited behind one that has left may fit now

local words = {}
for i = 3, last, 2 do
  local id, attach = ARGV[i], ARGV[i + 1]
  local r = load(id)
  if r and r.a ~= attach then
    words[#words + 1] = 'SUPERSEDED'
  else
    local rank = r and r.s == 'W' and redis.call('ZRANK', QUEUE, id)
    words[#words + 1] = rank and rank + 1 or 'LOOK'
  end
end
return answer(retention, 'DONE', outlook(), words)
