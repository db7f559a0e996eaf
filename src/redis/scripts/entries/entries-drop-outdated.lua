#!lua flags=allow-oom
-- Deletes a dictionary of the first layout, in steps.
--
-- KEYS  the `meta` of the dictionary in the first layout: a hash with the fields `live`, `build:ID` and `garbage:G` for
--       its generations. Their other keys are entries, ids, state, pins and parts, and a key `part` for each member of
--       the sorted set `parts`.
-- Reply MORE (call again) | OK | UNKNOWN (no key was left)
-- Holds The dictionary does not exist any more after the first step. Any server may go on with the next step.

-- The most keys that one step removes.
local REMOVED_KEYS = 64

local at = string.find(KEYS[1], '}:d:meta:', 1, true)
local key_head, name = string.sub(KEYS[1], 1, at + 3), string.sub(KEYS[1], at + 9)
local fields = redis.call('HGETALL', KEYS[1])
if #fields == 0 then return { 'UNKNOWN' } end
local generations = {}
for i = 1, #fields, 2 do
  local field = fields[i]
  if string.sub(field, 1, 8) == 'garbage:' then
    generations[#generations + 1] = string.sub(field, 9)
  elseif field == 'live' or string.sub(field, 1, 6) == 'build:' then
    generations[#generations + 1] = fields[i + 1]
    redis.call('HSET', KEYS[1], 'garbage:' .. fields[i + 1], 1)
    redis.call('HDEL', KEYS[1], field)
  end
end
local function key_of(part, generation) return key_head .. part .. ':' .. generation .. ':' .. name end
for _, generation in ipairs(generations) do
  local parts = key_of('parts', generation)
  local removed = redis.call('ZPOPMIN', parts, REMOVED_KEYS)
  for i = 1, #removed, 2 do redis.call('UNLINK', key_of('part', generation) .. '\0' .. removed[i]) end
  if #removed == 0 then
    for _, part in ipairs({ 'entries', 'ids', 'state', 'pins', 'parts' }) do
      redis.call('UNLINK', key_of(part, generation))
    end
    redis.call('HDEL', KEYS[1], 'garbage:' .. generation)
  end
  return { 'MORE' }
end
redis.call('DEL', KEYS[1])
return { 'OK' }
