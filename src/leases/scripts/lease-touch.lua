#!lua flags=allow-oom
-- Reports that a server with waiters is alive, and answers the positions of some of its waiters. Without waiters, the
-- script continues a step that stopped after a batch.
--
-- KEYS   the resource's keys (shared/layout.lua)
-- Args   calls: at most 64 pairs of request id and attach, as one JSON array
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
local calls = ...
calls = cjson.decode(calls)
local has_waiters = #calls > 0

local refusal = epoch_check()
if refusal then return refusal end
begin('')
if has_waiters and meta.limit then mark_alive(calling_server) end
purge()
if is_unfinished() then return answer('AGAIN') end
if has_waiters and meta.offers > 0 then
  for _, id in ipairs(redis.call('ZRANGE', key_of('offers'), 0, BATCH - 1)) do
    local request = load(id)
    if request and server_of(request.attach) == calling_server then send_hint(request.attach, id) end
  end
end
grant_next()

if clean_queue() then grant_next() end -- a waiter behind a removed waiter may fit now

local words = {}
for i = 1, #calls, 2 do
  local id, attach = calls[i], calls[i + 1]
  local request = load(id)
  if request and request.attach ~= attach then
    words[#words + 1] = 'SUPERSEDED'
  else
    local rank = request and redis.call('ZRANK', key_of('queue'), id)
    words[#words + 1] = rank and rank + 1 or 'RECHECK'
  end
end
return answer('DONE', queue_snapshot(), words)
