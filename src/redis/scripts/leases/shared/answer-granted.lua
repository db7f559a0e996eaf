-- @include answer.lua
-- @include end-of.lua
-- @include write.lua

local function answer_granted(retention_ms, id, request)
  if request.returnable == 2 then
    request.returnable = 1
    store(id, request)
  end
  local remaining = end_of(id) - now
  return answer(
    retention_ms, 'GRANTED', request.fencing_token, remaining, request.ttl, request.secret, request.permits,
    request.client_request_id)
end
