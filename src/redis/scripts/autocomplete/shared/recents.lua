-- A list of recents is one Redis list, the most recent first, two elements for each:
--   its identity  "i" and the entry id, or "t" and the text of one without
--   its value     "v", then of one with an id: the length of the text (2 bytes, the low one first), the text; then the
--                 payload. Scripts never look into it.
-- The first byte keeps them apart: a value is never found in place of an identity. The two go in, move and leave
-- together. A list of 100 short names takes about 1.7 kB, with short ids 1.9 kB; none takes more than about MOST_BYTES.
--
-- 1,000 recents of the greatest size would be 2.2 MB, and no way to read them holds Redis for less than 2 ms whatever
-- else the machine does: a script takes 3 ms to 4 ms, for it copies all that it returns several times, and LRANGE
-- 0.4 ms to 2 ms. So the bytes of a list are bounded as its length is, and it is read by LRANGE, without a script: at
-- most 0.1 ms then, and an add takes as long; of 100 short names 8 us and 23 us.

local MOST_BYTES = 524288   -- of a list, what Redis needs for it counted
local SURELY_FITS = 480     -- so many elements are always less than that

-- True: it was in the list.
local function take_out(list, identity)
  local place = redis.call('LPOS', list, identity)
  if not place then return false end
  redis.call('LSET', list, place, '') -- an empty element is neither an identity nor a value
  redis.call('LSET', list, place + 1, '')
  redis.call('LREM', list, 2, '')
  return true
end

-- The oldest leave while the list takes more than it may.
local function trim_bytes(list)
  local excess = redis.call('MEMORY', 'USAGE', list, 'SAMPLES', 0) - MOST_BYTES
  while excess > 0 do
    local oldest = redis.call('RPOP', list, 2)
    excess = excess - #oldest[1] - #oldest[2]
  end
end
