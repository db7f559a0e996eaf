-- @include answer.lua

-- A semaphore that is too small for the request that brought its limit is not created.
local function answer_never_fits(retention_ms)
  local limit = meta.limit
  if is_new then meta.limit = nil end
  return answer(retention_ms, 'NEVER_FITS', limit)
end
