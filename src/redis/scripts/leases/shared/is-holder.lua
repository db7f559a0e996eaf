-- True if the caller has the secret of the request's lease, and the identity of its holder.
local function is_holder(request, secret, identity)
  return request and request.secret == secret and (not request.identity or request.identity == identity)
end
