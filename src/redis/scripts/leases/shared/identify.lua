-- @include record.lua

-- Stores the identity of a new request. `client` is "" without an identity, else the client's request id, a UUID, and then the
-- identity.
local function identify(request, client)
  if client == '' then return end
  request.client_request_id, request.identity = string.sub(client, 1, 36), string.sub(client, 37)
end
