-- The server that speaks for a request.
-- @include state.lua

-- @rare
local function server_of(attach)
  return string.match(attach, '^[^.]*')
end

local function is_stream(attach) return string.sub(attach, -1) == 's' end

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

-- Sends a hint to a server: the id of a request to recheck, or the nil UUID (watchers.lua). The calling server gets the hint as news.
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
