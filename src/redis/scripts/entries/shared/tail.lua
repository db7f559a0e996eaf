-- The tail names a history: it is a digest of all ids of its writes. The id of the last write would not suffice: a write
-- that is repeated after a failover keeps its id, and may then follow other writes.

-- The length of a tail. Digests of 96 bits do not collide in practice.
local TAIL_DIGITS = 24

local function tail_after(before, id) return string.sub(redis.sha1hex(before .. id), 1, TAIL_DIGITS) end
