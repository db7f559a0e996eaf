-- @include never-fits.lua
-- @include servers.lua
-- @include transitions.lua

-- Walks once along the queue, a batch in each script. Waiters that never fit are removed and told so. Waiters of silent
-- servers are detached, because the queue counts and shows them until they become its head. True at the end.
local function walk_queue()
  local ids = redis.call('ZRANGEBYSCORE', QUEUE_KEY, int(meta.cursor), '+inf', 'LIMIT', '0', BATCH)
  for _, id in ipairs(ids) do
    local request = load(id)
    if not request then
      redis.call('ZREM', QUEUE_KEY, id)
    else
      meta.cursor = request.ticket + 1
      if never_fits(request.permits) then
        dismiss(id, request)
        send_hint(request.attach, id)
      elseif is_silent(server_of(request.attach)) then
        detach(id, request)
      end
    end
  end
  if #ids == BATCH then
    more = true
    return false
  end
  meta.cursor, change.misfits = 0, nil
  return true
end
