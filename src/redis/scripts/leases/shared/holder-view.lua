-- @include state.lua
-- @include record.lua

-- The public data of a holder: { holder_id, metadata, fencing token, permits, mode, granted us, end us, revoked,
-- identity (absent: none) }.
-- @rare
local function holder_view(id, ends_at)
  local request = load(id)
  if not request then return {} end
  return {
    request.holder_id, request.metadata, request.fencing_token, request.permits, request.mode, request.granted_at,
    ends_at, request.revoked or 0, request.identity,
  }
end
