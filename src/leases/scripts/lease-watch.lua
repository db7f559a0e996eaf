#!lua flags=allow-oom
-- Shows a resource to a server with watches, and registers the server, so that scripts tell the server of changes.
--
-- KEYS   the resource's keys (shared/layout.lua)
-- Args   as of lease-inspect.lua
-- Reply  resource_view is_inexact time_us   is_inexact is 1 if the permits in use may count expired leases, so that the
--                                          server must touch the resource first; else 0
--        nothing                           the bucket has leases of another layout
-- Holds  The script reads the view after the registration, so the server misses no change in between. Works while grants
--        pause and when memory is full. Changes no request, and moves no expiry of a resource that was used. A server is
--        registered anew when half of WATCHED_US has passed, so that most reads write nothing. No server is registered for
--        an unknown or deleted semaphore. At most MOST_WATCHERS servers are registered. Further servers learn of changes by
--        their next read.
--
-- @include shared/epoch-check.lua
-- @include shared/servers.lua
-- @include shared/state.lua
-- @include shared/views.lua
local UNUSED_EXPIRY_MS = '10000' -- the expiry of a name that has only registrations
local max_shown, layout = ...
max_shown = tonumber(max_shown)

if not may_look(layout) then return {} end
begin('')
if meta.limit == nil and is_semaphore() then meta.limit = tonumber(redis.call('GET', limit_key())) end

local servers, count = watching_servers()
local last = servers[calling_server]
local is_due = not last and count < MOST_WATCHERS or last and math.abs(now - last) > WATCHED_US / 2
if is_due and (meta.limit ~= nil or not is_semaphore()) then
  servers[calling_server] = now
  redis.call('HSET', STATE_KEY, 'w', cmsgpack.pack(servers))
  if meta.expires == 0 then redis.call('PEXPIRE', STATE_KEY, UNUSED_EXPIRY_MS) end
end
local view = resource_view(max_shown)
return { view, more and 1 or 0, now_text }
