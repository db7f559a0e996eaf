-- @include state.lua

-- The server that speaks for a request.

-- @rare
local function server_of(attach)
  return string.match(attach, '^[^.]*')
end

-- True for a stream or a session, which renews the lease that it holds.
local function is_holding(attach) return string.sub(attach, -1) == 's' end

-- True: a later session of the same client process, or a later command of the same session, speaks for the request. Then the
-- call with `attach` must not take the request over: the command may have come late.
-- @rare
local function is_after(stored, attach)
  local client, number, command = string.match(attach, '/([^/]+)/(%d+)%.(%d+)s$')
  local other, other_number, other_command = string.match(stored, '/([^/]+)/(%d+)%.(%d+)s$')
  if not client or other ~= client then return false end
  number, other_number = tonumber(number), tonumber(other_number)
  return other_number > number or other_number == number and tonumber(other_command) > tonumber(command)
end

-- Sends a hint to a server: the id of a request to recheck, or the nil UUID (`tell_watchers`). The calling server gets the hint as news.
-- @rare
local function tell_server(server, id)
  if server == calling_server then
    news[#news + 1] = id
  else
    -- pcall: a hint must not stop the script if the user has no right to publish
    redis.pcall('SPUBLISH', string.match(STATE_KEY, '^[^}]*}') .. ':wake:' .. server, id .. STATE_KEY)
  end
end

-- Asks the server that speaks for a request to recheck the request. A message to another server is a hint: if the hint
-- is lost, the server's next touch or renewal finds the same news.
-- @rare
local function send_hint(attach, id)
  tell_server(server_of(attach), id)
end

-- During a grace, a server counts as silent only if the server was also silent during the whole previous grace.
-- @rare
local function is_silent(server)
  if server == calling_server then return false end
  local last = tonumber(redis.call('ZSCORE', key_of('live'), server) or 0)
  return now - last > SILENT_US and (now >= meta.grace or last < meta.graced - GRACE_US)
end

-- @rare
local function mark_alive(server)
  if redis.call('ZADD', key_of('live'), now_text, server) == 1 then expiring.live = true end
end

-- The servers with watches of the resource: the field `w` of STATE_KEY is a MessagePack table of server id -> time of the
-- last registration (us). lease-watch.lua renews the registration of a server as long as the server has watches.

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
-- request id (RESOURCE_CHANGED in src/leases/redis/lease-keys.ts). A lost hint costs at most a second, because these servers
-- also read the resource every second.
-- @rare
local function tell_watchers()
  local servers, count = watching_servers()
  if count == 0 then redis.call('HDEL', STATE_KEY, 'w') end -- so that later changes need not read old registrations
  for server in pairs(servers) do tell_server(server, '00000000-0000-0000-0000-000000000000') end
end
