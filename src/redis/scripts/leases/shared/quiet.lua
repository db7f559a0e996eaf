-- @include purge.lua

-- True if no earlier work of the resource is due: `purge` and `grant_next` would change nothing. For a resource with a lease.
local function is_quiet()
  local leases_due, offers_due, places_due, tombstones_due = due_steps()
  return next(change) == nil and not (is_set_back() or leases_due or offers_due or places_due or tombstones_due)
    and (meta.queue == 0 or meta.used >= meta.limit)
end
