-- @include state.lua

-- How far Redis's clock was set forward (us), as long as grants pause for the step: leases last longer by this. For scripts
-- without an epoch check. `epoch` is the text of epoch-adopt.lua, or false.
local function clock_shift_of(epoch)
  local ends_at, set_forward = string.match(epoch or '', '^%S+ %a %d+ %d+ %d+ (%d+) (%d+)')
  return ends_at and tonumber(ends_at) > now and tonumber(set_forward) or 0
end
