-- @include dictionary.lua

-- Returns version and tail of the last write that is completely in the buckets of the live generation.
local function end_of_buckets()
  if not pending then return version, tail end
  return version - 1, cmsgpack.unpack(pending)[4]
end
