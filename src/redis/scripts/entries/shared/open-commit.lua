-- A commit that must follow more writes than one script can follow is kept in `committing` of meta: import id, generation,
-- id of the write, and the time after which the commit must not be done (us). Until then no script adds a write: each
-- writer does the next step of the commit first. So the number of writes to follow only falls, and the commit ends.
--
-- @include dictionary.lua

-- Returns the values of `committing`, or nil without such a commit.
local function open_commit()
  if not meta[8] then return nil end
  local commit = cmsgpack.unpack(meta[8])
  if now <= commit[4] and redis.call('HEXISTS', KEYS[1], 'import:' .. commit[1]) == 1 then return commit end
end
