-- @include holder-view.lua

-- Returns { us until the earliest end of a lease or offer (-1: none), number of waiters, view of the holder with the
--   earliest end ({}: none), us until that end, limit ("": unknown), permits in use }
local function queue_snapshot()
  local first = redis.call('ZRANGE', ENDS_KEY, '0', '0', 'WITHSCORES')
  local lapse = redis.call('ZRANGE', OFFERS_KEY, '0', '0', 'WITHSCORES')
  local earliest = math.min(tonumber(first[2]) or NEVER, tonumber(lapse[2]) or NEVER)
  local holder = first[1] or lapse[1]
  return {
    earliest == NEVER and -1 or earliest - now,
    redis.call('ZCARD', QUEUE_KEY),
    holder and holder_view(holder, first[2] or lapse[2]) or {},
    holder and (first[2] or lapse[2]) - now or 0,
    meta.limit or '', meta.used,
  }
end
