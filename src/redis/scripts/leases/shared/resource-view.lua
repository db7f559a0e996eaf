-- @include holder-view.lua

-- A resource with at most `max_shown` holders and waiters: { limit ("": unknown), last fencing token, permits in use,
-- number of holders, number of waiters, { holder_view ... }, { { holder_id, metadata, permits, mode, queued us } ... } }.
-- Sets `more` if `permits in use` may count expired leases that are not purged yet.
local function resource_view(max_shown)
  local after = '(' .. NOW_TEXT
  local holders, used = {}, meta.used
  local expired = redis.call('ZRANGEBYSCORE', ENDS_KEY, '-inf', NOW_TEXT, 'LIMIT', 0, BATCH)
  for _, id in ipairs(expired) do
    local request = load(id)
    used = used - (request and request.permits or 0)
  end
  if #expired == BATCH then more = true end
  for _, key in ipairs({ ENDS_KEY, OFFERS_KEY }) do
    local found = redis.call('ZRANGEBYSCORE', key, after, '+inf', 'WITHSCORES', 'LIMIT', 0, max_shown - #holders)
    for i = 1, #found, 2 do holders[#holders + 1] = holder_view(found[i], found[i + 1]) end
  end
  local waiters = {}
  for i, id in ipairs(redis.call('ZRANGE', QUEUE_KEY, 0, max_shown - 1)) do
    local request = load(id)
    waiters[i] = request
      and { request.holder_id, request.metadata, request.permits, request.mode, request.queued_at } or {}
  end
  local holder_count = redis.call('ZCOUNT', ENDS_KEY, after, '+inf') + redis.call('ZCOUNT', OFFERS_KEY, after, '+inf')
  return {
    meta.limit or '', meta.token, used, holder_count, redis.call('ZCARD', QUEUE_KEY), holders, waiters,
  }
end
