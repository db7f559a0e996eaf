-- @include answer.lua
-- @include end-of.lua

local function answer_granted(retention_ms, id, request)
  local remaining = end_of(id) - now
  return answer(
    retention_ms, 'GRANTED', request.fencing_token, remaining, request.ttl, request.secret, request.permits)
end
