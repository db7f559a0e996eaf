#!lua flags=allow-oom
-- Ends the pause of grants in buckets, on an operator's request.
--
-- KEYS   epochs (epoch-adopt.lua)
-- ARGV   1 run_id of the connection that sends this script
--        2 time after which the server no longer waits for the answer (us)
-- Reply  the header (shared/reply.lua) with the remaining time of the longest ended pause (us), and
--        OK number_of_ended_pauses cause_of_the_longest
--        STALE                             the script ran too late and did nothing
-- Holds  Ends only pauses that are in force for this run of Redis.
--
-- @include shared/reply.lua
local run_id, not_after = ARGV[1], tonumber(ARGV[2])
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
if now > not_after then return reply('STALE', 0, {}, now, 0) end

local ended_count, left, last_cause = 0, 0, ''
for _, key in ipairs(KEYS) do
  local epoch, ends_at, cause = string.match(redis.call('GET', key) or '', '^(%S+ %a %d+ %d+) %d+ (%d+) %d+ (%a+)$')
  ends_at = tonumber(ends_at) or 0
  if ends_at > now and string.match(epoch, '^%S+') == run_id then
    redis.call('SET', key, epoch)
    ended_count = ended_count + 1
    if ends_at - now > left then left, last_cause = ends_at - now, cause end
  end
end
return reply('OK', 0, {}, now, left, ended_count, last_cause)
