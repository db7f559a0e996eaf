-- The servers with watches of the resource: the field `w` of STATE_KEY is a MessagePack table of server id -> time of the
-- last registration (us). permits-watch.lua renews the registration of a server as long as the server has watches.
-- @include servers.lua

-- The servers with a valid registration, the time of each registration, and the number of these servers. A registration
-- with a time after the present is valid up to WATCHED_US after the present, because Redis's clock may have been set back.
-- @rare
local function watching_servers()
  local servers, count = {}, 0
  for server, time in pairs(watchers and cmsgpack.unpack(watchers) or {}) do
    if math.abs(now - time) <= WATCHED_US then servers[server], count = time, count + 1 end
  end
  return servers, count
end

-- Tells the servers with watches that something has changed that watches show: the hint has the nil UUID in place of a
-- request id (src/redis/leases/hints.ts). A lost hint costs at most a second, because these servers also read the resource
-- every second.
-- @rare
local function tell_watchers()
  local servers, count = watching_servers()
  if count == 0 then redis.call('HDEL', STATE_KEY, 'w') end -- so that later changes need not read old registrations
  for server in pairs(servers) do tell_server(server, '00000000-0000-0000-0000-000000000000') end
end
