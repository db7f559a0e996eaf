-- The time arguments of `runTimed` (src/redis/runner.ts), which are the last arguments.
--
-- @include dictionary.lua

local not_after, may_have_run = tonumber(ARGV[#ARGV - 1]), ARGV[#ARGV] == '1'

-- Returns the reply if the script must do nothing: LATE (no send has run, and the caller has received an error), or
-- FORGOTTEN (an earlier send may have run). If the dictionary was deleted meanwhile, the deletion has removed all traces of
-- an earlier send. If the clock was set meanwhile, an earlier send may even run later.
local function refusal()
  local is_late = now > not_after
  if may_have_run and (is_late or redis.call('EXISTS', key_head .. 'dropped') == 1) then return { 'FORGOTTEN' } end
  if is_late then return { 'LATE' } end
end
