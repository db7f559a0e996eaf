-- @include answer.lua
-- @include record.lua

-- FINISHED for a revoked lease that has not ended yet. The lease is never extended and never reported again. As in
-- answer_finished, the reply names the token if only the asking call was answered with the lease: a call that has not
-- reported the lease gives the lease back, and its permits are free at once.
-- @rare
local function answer_revoked(retention_ms, request, attach)
  local is_returnable = request.returnable >= 1 and request.answered == attach
  return answer(retention_ms, 'FINISHED', 'revoked', is_returnable and request.fencing_token or '')
end
