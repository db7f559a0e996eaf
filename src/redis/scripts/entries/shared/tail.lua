-- The tail names a history: it is a digest of all ids of its writes. An id alone would not do: a write that is repeated after
-- a failover keeps its id, and may then follow other writes.

-- The length of a tail. Digests of 96 bits do not meet.
local TAIL_DIGITS = 24

local function tail_after(before, id) return string.sub(redis.sha1hex(before .. id), 1, TAIL_DIGITS) end
