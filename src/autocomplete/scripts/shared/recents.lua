-- A list of recents is one Redis list, the most recent first. Each recent has two elements:
--   identity  "i" and the entry id, or "t" and the text if there is no entry id
--   value     "v", then for a recent with an entry id the length of its text (2 bytes, low byte first) and the text, then
--             the payload. Scripts do not read values.
-- The first byte distinguishes identities from values. Both elements are added, moved and removed together.
-- Servers read a list with LRANGE. A list of MAX_BYTES blocks Redis for at most 0.1 ms. See docs/design/autocomplete.md.

local MAX_BYTES = 524288    -- the memory of a list, as Redis counts it
local ALWAYS_FITS = 480     -- this number of elements never needs MAX_BYTES

-- Removes a recent from the list. Returns true if the recent was in the list.
local function take_out(list, identity)
  local place = redis.call('LPOS', list, identity)
  if not place then return false end
  redis.call('LSET', list, place, '') -- marks the identity and the value for LREM: no recent stores an empty element
  redis.call('LSET', list, place + 1, '')
  redis.call('LREM', list, 2, '')
  return true
end

-- Removes the oldest recents while the list needs more than MAX_BYTES.
local function trim_bytes(list)
  local excess = redis.call('MEMORY', 'USAGE', list, 'SAMPLES', 0) - MAX_BYTES
  while excess > 0 do
    local oldest = redis.call('RPOP', list, 2)
    excess = excess - #oldest[1] - #oldest[2]
  end
end
