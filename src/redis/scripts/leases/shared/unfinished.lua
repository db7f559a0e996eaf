-- Steps of a limit change or a deletion that need several scripts, with one batch in each.
-- @include servers.lua
-- @include transitions.lua

-- The limit was lowered below the permits in use: all offers go back into the queue with their own tickets. A claim of
-- such an offer would exceed the limit, and the permits that are left belong to the first waiter.
-- @rare
local function recall_offers()
  local ids = meta.offers > 0 and redis.call('ZRANGE', key_of('offers'), 0, BATCH - 1) or {}
  for _, id in ipairs(ids) do
    local request = load(id)
    remove('offers', id)
    if request then
      meta.used = meta.used - request.permits
      request.state = WAITING
      put('queue', request.ticket, id)
      store(id, request)
    end
  end
  if #ids < BATCH then change.recall = nil end
end

-- The semaphore was deleted: holders learn that their lease was revoked, and waiters that there is no semaphore.
-- @rare
local function end_all_requests()
  local left = BATCH
  local function first(part, count)
    local ids = left > 0 and count > 0 and redis.call('ZRANGE', key_of(part), 0, left - 1) or {}
    left = left - #ids
    return ids
  end
  -- A copy, because the end of a lease removes its id.
  local held = meta.is_spilled == 1 and first('ends', meta.ends) or { unpack(lease_ids) }
  for _, id in ipairs(held) do
    local request = load_in(HELD, id)
    if request and is_stream(request.attach) then send_hint(request.attach, id) end
    if request then end_lease(id, request, 'revoked') else remove_end(id) end
  end
  for _, part in ipairs({ 'offers', 'queue', 'detached' }) do
    local ids = first(part, meta[part])
    for _, id in ipairs(ids) do
      local request = load(id)
      if request then send_hint(request.attach, id) end
      remove(part, id)
    end
    forget(ids)
  end
  if left == 0 then return end
  meta.used, change.dissolving = 0, nil
  redis.call('UNLINK', key_of('live'))
end

-- True while a limit change or a deletion is unfinished. No script grants or answers before the end: the script answers
-- AGAIN, and the server runs the script again.
local function is_unfinished() return not own_only and (change.recall or change.dissolving) end
