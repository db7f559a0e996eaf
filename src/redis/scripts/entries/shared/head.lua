-- @include dictionary.lua

-- The first values of a reply about a dictionary: OK, profile, live generation, version, tail. The server reads the same
-- values with HMGET when it needs nothing else.
local function with_head(...) return { 'OK', meta[6], live, int(version), tail, ... } end
