-- @include holder-view.lua
-- @include leases.lua

-- Returns { us until the earliest end of a lease or offer (-1: none), number of waiters, view of the holder with the
--   earliest end ({}: none), us until that end, limit ("": unknown), permits in use }
-- @rare
local function queue_snapshot()
  local holder, time = first_lease()
  local lapse = meta.offers > 0 and redis.call('ZRANGE', key_of('offers'), '0', '0', 'WITHSCORES') or {}
  local earliest = math.min(time or NEVER, tonumber(lapse[2]) or NEVER)
  if not holder then holder, time = lapse[1], tonumber(lapse[2]) end
  return {
    earliest == NEVER and -1 or earliest - now,
    meta.queue,
    holder and holder_view(holder, time) or {},
    holder and time - now or 0,
    meta.limit or '', meta.used,
  }
end
