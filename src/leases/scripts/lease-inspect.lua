#!lua flags=no-writes
-- Shows a resource and changes nothing. Expired leases are left out; the next script that writes ends them.
--
-- KEYS   the resource's keys (shared/layout.lua)
-- ARGV   1 maximum number of holders and of waiters to show  2 version of the server's layout of leases
-- Reply  resource_view is_inexact time_us   is_inexact is 1 if the permits in use may count expired leases, so that the
--                                          server must touch the resource first; else 0
--        nothing                           the bucket has leases of another layout
-- Holds  Read-only, so a replica may answer, and a Redis that refuses writes.
--
-- @include ../../redis/scripts/shared/layout-of.lua
-- @include shared/state.lua
-- @include shared/views.lua
local max_shown = tonumber(ARGV[1])

local epoch = redis.call('GET', EPOCH_KEY)
local layout = layout_of(epoch)
if layout and layout ~= ARGV[2] then return {} end
clock_shift = clock_shift_of(epoch)
begin('', '')
if meta.limit == nil and is_semaphore() then meta.limit = tonumber(redis.call('GET', limit_key())) end
local view = resource_view(max_shown)
return { view, more and 1 or 0, NOW_TEXT }
