-- Whether an operation may purge and grant.
-- @include ../../../redis/scripts/shared/layout-of.lua
-- @include ../../../redis/scripts/shared/reply.lua
-- @include state.lua

-- Returns nothing if the script may act on all requests, else the reply, which has no values (reply.lua):
--   LAYOUT       the bucket has leases of another layout; the script must end
--   STALE        the command is late, or Redis's clock differs from the server's estimate
--   EPOCH        the bucket's epoch is of another run of Redis, so this Redis may have lost leases
--   QUARANTINED  this Redis may have lost leases, and clients may still believe in them
-- After STALE, EPOCH and QUARANTINED, a script changes no other request. The script may release its own lease and end its
-- own wait. After EPOCH and QUARANTINED, the script may also renew its own lease if the lease lasts longer than
-- `rival_until`.
local function epoch_check()
  if epoch == expected and now <= not_after then return nil end
  local layout = layout_of(epoch)
  if layout and layout ~= layout_of(expected) then return reply('LAYOUT', 0, {}, now_text, 0) end
  own_only = 1
  if now > not_after then return reply('STALE', 0, {}, now_text, 0) end
  local run_id, overlap, since, ends_at, set_forward, cause =
    string.match(epoch or '', '^(%S+) %a %d+ (%d+) ?(%d*) ?(%d*) ?(%d*) ?(%a*)')
  own_only = 2
  local expected_run, expected_overlap = string.match(expected, '^(%S+) %a %d+ (%d+)')
  if run_id ~= expected_run then
    rival_until = now + expected_overlap * 1000
    return reply('EPOCH', 0, {}, now_text, 0)
  end
  local left = (tonumber(ends_at) or 0) - now
  if left <= 0 then
    own_only = nil
    return nil
  end
  clock_shift = tonumber(set_forward)
  if cause ~= 'clock' then rival_until = since + overlap * 1000 end
  paused_us = left
  return reply('QUARANTINED', 0, {}, now_text, paused_us)
end

-- For operations that change no request. Returns false if the bucket has leases of another layout. Sets `clock_shift`.
local function may_look(layout)
  local stored_layout = layout_of(epoch)
  if stored_layout and stored_layout ~= layout then return false end
  local ends_at, set_forward = string.match(epoch or '', '^%S+ %a %d+ %d+ %d+ (%d+) (%d+)')
  if ends_at and tonumber(ends_at) > now then clock_shift = tonumber(set_forward) end
  return true
end
