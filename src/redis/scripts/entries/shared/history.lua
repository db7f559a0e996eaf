-- @include dictionary.lua

-- Returns version and tail of a generation: the present ones for the live generation, the last ones for a replaced
-- generation. Returns nil if the generation was removed or is being built.
local function end_of_history(generation)
  if generation == live then return version, tail end
  local numbers = redis.call('HMGET', key_head .. 'state:' .. generation, 'ended', 'end_tail', 'removed')
  if numbers[1] and not numbers[3] then return tonumber(numbers[1]), numbers[2] end
end
