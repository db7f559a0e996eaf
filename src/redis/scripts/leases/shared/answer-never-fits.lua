-- @include answer.lua

-- The request's own limit may be too small for the request. Then the semaphore is not created.
-- @rare
local function answer_never_fits(retention_ms)
  local limit = meta.limit
  if is_new then meta.limit = nil end
  return answer(retention_ms, 'NEVER_FITS', limit)
end
