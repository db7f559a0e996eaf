-- @include answer.lua
-- @include record.lua

-- FINISHED: the lease of the request has ended. The reply has the token of the lease if only the asking call was answered
-- with the lease, and "" otherwise. If the asking call has not reported the lease, the call gives the lease back. For
-- another call, the script answers SUPERSEDED, or drops the token before.
-- @rare
local function answer_finished(retention_ms, request)
  return answer(retention_ms, 'FINISHED', request.cause, request.fencing_token or '')
end
