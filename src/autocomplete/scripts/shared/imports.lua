-- An import builds a new generation beside the live generation. `state` of a generation that is built has also:
--   started, heard    the times of the first and the last message (us)
--   received          number of received entries
--   sequence          number of the last received chunk, so that a repeated chunk is not put twice
--   source            the live generation that the import follows ("": none existed at the start)
--   followed, at      version and tail of the last followed write
--   owner             the caller of the import ("": no identity), who owns the dictionary if this import creates it
--   chunks            number of followed chunks of the next write, if that is a put of several chunks
--
-- @include dictionary.lua

-- The most imports at a time. Each needs as much memory as the dictionary.
local MOST_IMPORTS = 4
-- An import that is silent for this time is given up (us).
local SILENT_US = 60000000
-- How long a replaced generation is kept, for servers that load it (us).
local REPLACED_US = 600000000

-- The fields of meta with the prefix `head`, as pairs of the name without the prefix and the value.
local function fields_of(head)
  local all, found = redis.call('HGETALL', KEYS[1]), {}
  for i = 1, #all, 2 do
    if string.sub(all[i], 1, #head) == head then
      found[#found + 1] = { string.sub(all[i], #head + 1), all[i + 1] }
    end
  end
  return found
end

local function discard(generation, removed_at)
  redis.call('HSET', KEYS[1], 'garbage:' .. generation, int(removed_at))
end

-- Pins are of no use after the end of an import.
local function discard_pins(generation)
  local pins = generation .. ':pins'
  if redis.call('EXISTS', key_head .. 'state:' .. pins) == 1 then discard(pins, now) end
end

-- A dictionary without live generation and imports has no profile.
local function give_up(import, generation)
  redis.call('HDEL', KEYS[1], 'import:' .. import, 'committing')
  discard(generation, now)
  discard_pins(generation)
  if not live and #fields_of('import:') == 0 then redis.call('HDEL', KEYS[1], 'profile', 'committed') end
end

-- Gives up silent imports. Returns the number of the others.
local function give_up_silent()
  local count = 0
  for _, import in ipairs(fields_of('import:')) do
    local heard = redis.call('HGET', key_head .. 'state:' .. import[2], 'heard')
    -- An import must not stay forever because the clock was set back.
    if math.abs(now - (heard or 0)) > SILENT_US then
      give_up(import[1], import[2])
    else
      count = count + 1
    end
  end
  return count
end
