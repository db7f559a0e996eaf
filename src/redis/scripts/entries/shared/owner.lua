-- Called when the dictionary begins to exist. "": the caller has no identity.
local function set_owner(owner)
  if owner == '' then
    redis.call('HDEL', KEYS[1], 'owner')
  else
    redis.call('HSET', KEYS[1], 'owner', owner)
  end
end
