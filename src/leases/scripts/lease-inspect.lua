#!lua flags=no-writes
-- Shows a resource and changes nothing. Expired leases are left out; the next script that writes ends them.
--
-- KEYS   the resource's keys (shared/layout.lua)
-- Args   max_shown: the most holders, and the most waiters, to show  layout: the version of the server's layout of leases
-- Reply  resource_view is_inexact time_us   is_inexact is 1 if the permits in use may count expired leases, so that the
--                                          server must touch the resource first; else 0
--        nothing                           the bucket has leases of another layout
-- Holds  Read-only, so a replica may answer, and a Redis that refuses writes.
--
-- @include shared/epoch-check.lua
-- @include shared/state.lua
-- @include shared/views.lua
local max_shown, layout = ...
max_shown = tonumber(max_shown)

if not may_look(layout) then return {} end
begin('')
if meta.limit == nil and is_semaphore() then meta.limit = tonumber(redis.call('GET', limit_key())) end
local view = resource_view(max_shown)
return { view, more and 1 or 0, now_text }
