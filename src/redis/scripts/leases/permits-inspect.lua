#!lua flags=no-writes
-- Shows a resource and changes nothing. Expired leases are left out; the next script that writes ends them.
--
-- KEYS   the resource's keys (shared/constants.lua)
-- ARGV   1 maximum number of holders and of waiters to show
-- Reply  resource_view, 1: too many expired leases are left to count the permits in use, so the server must touch the
--        resource first, 0: the view is exact
-- Holds  Read-only, so a replica may answer.
--
-- @include shared/resource-view.lua
local max_shown = tonumber(ARGV[1])

begin('', '')
if meta.limit == nil and LIMIT_KEY then meta.limit = tonumber(redis.call('GET', LIMIT_KEY)) end
local view = resource_view(max_shown)
return { view, more and 1 or 0 }
