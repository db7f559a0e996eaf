-- Shows a resource, changing nothing: what has expired is left out, and purged by whoever writes next.
--
-- KEYS  the resource's keys (prelude)
-- ARGV  1 how many holders and waiters at most
-- Reply SHOWN view, after the header of all (answers.lua)
-- Holds Read-only, so a replica may answer it.
local most = tonumber(ARGV[1])

begin('', '')
if meta.limit == nil and LIMIT then meta.limit = tonumber(redis.call('GET', LIMIT)) end
local shown = view(most)
return { 'SHOWN', more and 1 or 0, offers, NOW, 0, shown }
