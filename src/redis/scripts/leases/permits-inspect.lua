#!lua flags=no-writes
-- Shows a resource and changes nothing. Expired leases are left out; the next script that writes ends them.
--
-- KEYS   the resource's keys (shared/constants.lua)
-- ARGV   1 maximum number of holders and of waiters to show
-- Reply  SHOWN resource_view, behind the header (../shared/reply.lua)
-- Holds  Read-only, so a replica may answer.
--
-- @include ../shared/reply.lua
-- @include shared/resource-view.lua
local max_shown = tonumber(ARGV[1])

begin('', '')
if meta.limit == nil and LIMIT_KEY then meta.limit = tonumber(redis.call('GET', LIMIT_KEY)) end
local view = resource_view(max_shown)
return reply('SHOWN', more and 1 or 0, rechecks, NOW_TEXT, 0, view)
