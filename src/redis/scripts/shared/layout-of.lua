-- The version of the layout of leases that an epoch names (epoch-adopt.lua). nil: there is no readable epoch. The servers of an
-- earlier version wrote no version.
local function layout_of(epoch)
  local run_id = string.match(epoch or '', '^(%S+) %a %d+ %d+')
  return run_id and (string.match(run_id, '^L(%d+):') or '0')
end
