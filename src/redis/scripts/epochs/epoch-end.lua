-- Ends the pause of grants in buckets, on an operator's word.
--
-- KEYS  epochs (epoch-adopt.lua)
-- ARGV  1 run_id of the connection this is sent through  2 time after which nobody waits for the answer (us)
-- Reply { word, 0, {}, now, us that the last pause had left }, the header of all guarded scripts
--       (leases/shared/answers.lua); OK: epochs whose pause ended, the cause of the last one | STALE
-- Holds Ends what is in force for this very run of Redis, not a pause that it has yet to begin.
local run_id, not_after = ARGV[1], tonumber(ARGV[2])
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
if now > not_after then return { 'STALE', 0, {}, now, 0 } end

local ended, left, why = 0, 0, ''
for _, key in ipairs(KEYS) do
  local settled, til, cause = string.match(redis.call('GET', key) or '', '^(%S+ %a %d+ %d+) %d+ (%d+) %d+ (%a+)$')
  til = tonumber(til) or 0
  if til > now and string.match(settled, '^%S+') == run_id then
    redis.call('SET', key, settled)
    ended = ended + 1
    if til - now > left then left, why = til - now, cause end
  end
end
return { 'OK', 0, {}, now, left, ended, why }
