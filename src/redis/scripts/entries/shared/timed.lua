-- The time arguments of `runTimed` (src/redis/connection/command-runner.ts), which are the last arguments.
--
-- @include dictionary.lua

local not_after, may_have_run = tonumber(ARGV[#ARGV - 1]), ARGV[#ARGV] == '1'

-- Returns the reply if the script must do nothing: LATE (it was not done, and its caller has got a failure), or FORGOTTEN
-- (an earlier send may have run). An earlier send may have run before a deletion, which removes all traces of writes. An
-- earlier send may even run later, if the clock was set meanwhile.
local function refusal()
  local is_late = now > not_after
  if may_have_run and (is_late or redis.call('EXISTS', key_head .. 'dropped') == 1) then return { 'FORGOTTEN' } end
  if is_late then return { 'LATE' } end
end
