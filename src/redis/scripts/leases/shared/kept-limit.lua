-- @include state.lua

-- The value of `limit_key` of a paused semaphore: 0 as a number, for every script that reads a limit, also those of older
-- servers. Their scripts replace or delete the value as a whole, so no kept limit is left behind.
local function kept_text(limit) return '0e' .. int(limit) end

-- The limit that the end of the pause brings back, or nil.
local function kept_limit()
  if meta.limit ~= 0 then return nil end
  return tonumber(string.match(redis.call('GET', limit_key()) or '', '^0e(%d+)$'))
end
