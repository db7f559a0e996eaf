-- @include answer.lua
-- @include record.lua

-- FINISHED: the lease of the request has ended. The reply names the lease's token if only the asking call was answered
-- with the lease ("": any other end). If that call has not reported the lease, the call gives the lease back.
local function answer_finished(retention_ms, request, attach)
  local token = request.attach == attach and request.fencing_token or ''
  return answer(retention_ms, 'FINISHED', request.cause, token)
end
