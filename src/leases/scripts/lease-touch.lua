#!lua flags=allow-oom
-- Reports that a server with waiters is alive, and answers the positions of some of its waiters. Without waiters, the
-- script continues a step that stopped after a batch.
--
-- KEYS   the resource's keys (shared/layout.lua)
-- ARGV   1 server  2 retention (ms)  3.. at most 64 pairs of request id and attach
-- Reply  DONE queue_snapshot { for each pair: its position in the queue
--                                             | RECHECK: the request was offered, detached, ended or forgotten, so
--                                               the server must claim it
--                                             | SUPERSEDED: another call speaks for the request }
--        AGAIN
-- Holds  RECHECK never says whether the request was granted or ended: the server learns this by a claim. Repeats the
--        hints of open offers, because hints may be lost.
--
-- @include shared/answers.lua
-- @include shared/epoch-check.lua
-- @include shared/purge.lua
-- @include shared/queue.lua
-- @include shared/servers.lua
-- @include shared/views.lua
local server, retention_ms = ARGV[1], tonumber(ARGV[2])
local last = #ARGV - 2
local has_waiters = last > 2

local refusal = epoch_check()
if refusal then return refusal end
begin(server, '')
if has_waiters and meta.limit then mark_alive(server) end
purge()
if is_unfinished() then return answer(retention_ms, 'AGAIN') end
if has_waiters and meta.offers > 0 then
  for _, id in ipairs(redis.call('ZRANGE', key_of('offers'), 0, BATCH - 1)) do
    local request = load(id)
    if request and server_of(request.attach) == server then send_hint(request.attach, id) end
  end
end
grant_next()

if clean_queue() then grant_next() end -- a waiter behind a removed waiter may fit now

local words = {}
for i = 3, last, 2 do
  local id, attach = ARGV[i], ARGV[i + 1]
  local request = load(id)
  if request and request.attach ~= attach then
    words[#words + 1] = 'SUPERSEDED'
  else
    local rank = request and redis.call('ZRANK', key_of('queue'), id)
    words[#words + 1] = rank and rank + 1 or 'RECHECK'
  end
end
return answer(retention_ms, 'DONE', queue_snapshot(), words)
