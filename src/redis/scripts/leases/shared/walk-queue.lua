-- @include never-fits.lua
-- @include servers.lua
-- @include transitions.lua

-- Walks once along the queue, a batch in each script. Waiters that never fit are removed and told so. Waiters of silent
-- servers are detached, because the queue counts and shows them until they become its head. True at the end.
-- @rare
local function walk_queue()
  local ids = meta.queue > 0
    and redis.call('ZRANGEBYSCORE', key_of('queue'), int(meta.cursor), '+inf', 'LIMIT', '0', BATCH) or {}
  for _, id in ipairs(ids) do
    local request = load(id)
    if not request then
      remove('queue', id)
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
