-- @include purge.lua

-- True if no earlier work of the resource is due: `purge` and `grant_next` would change nothing. For a resource with a lease.
-- The conditions are those of `purge`, written twice: a shared function would cost each call of `purge` a function call.
local function is_quiet()
  return next(change) == nil and meta.seen <= now + SET_BACK_US
    and not has_lease_to_end() and now < meta.offers_due and now < meta.detached_due
    and (tombs == '' or struct.unpack(ELEMENT, tombs) > now)
    and (meta.queue == 0 or meta.used >= meta.limit)
end
