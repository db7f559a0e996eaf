-- A dictionary and its generations, for all dictionary scripts.
--
-- KEYS[1] is the dictionary's `meta`, a hash:
--   profile      accents ('k' kept, 'd' dropped) .. typos ('t', '-') .. fold version
--   live         the generation that answers; absent until the first import is committed
--   generation   number of generations that have been live
--   build:ID     the generation that the import ID builds
--   garbage:G    a generation that is being removed
--   committed    the last committed import, so that a repeated commit gets the same answer
--   jobs         unfinished changes of entries (see jobs.lua)
-- All other keys belong to one generation. The id of a generation is never used again. Key names are derived from KEYS[1],
-- so all keys are in the same slot:
--   entries:G    hash: entries by number (see `pack_entry`)
--   ids:G        hash: numbers by entry id
--   state:G      hash: next number, count of entries; for an import also started, heard (us), received
--   pins:G       for an import: ids that were changed meanwhile, which its batches must not overwrite
--   parts:G      sorted set: the lowest record that each part of the index may hold (see index.lua)
--   part:G       followed by a zero byte and that lowest record: the records of one part

-- An import that is silent for this time is abandoned (us).
local IMPORT_SILENCE = 60000000

local function int(number) return string.format('%.0f', number) end

local clock = redis.call('TIME')

local started = clock[1] * 1000000 + clock[2]

local function elapsed()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2] - started
end

local head_end = string.find(KEYS[1], '}:d:meta:', 1, true)

local key_head = string.sub(KEYS[1], 1, head_end + 3)

local dictionary_name = string.sub(KEYS[1], head_end + 9)

local function key_of(part, generation) return key_head .. part .. ':' .. generation .. ':' .. dictionary_name end

local function meta(field) return redis.call('HGET', KEYS[1], field) end

-- The fields of meta that begin with `head`, as pairs of the rest of the name and the value.
local function fields_of(head)
  local all, found = redis.call('HGETALL', KEYS[1]), {}
  for i = 1, #all, 2 do
    if string.sub(all[i], 1, #head) == head then
      found[#found + 1] = { string.sub(all[i], #head + 1), all[i + 1] }
    end
  end
  return found
end

local function new_generation()
  local generation = int(started)
  while redis.call('EXISTS', key_of('state', generation)) == 1 do
    started = started + 1
    generation = int(started)
  end
  return generation
end

local function discard(generation) redis.call('HSET', KEYS[1], 'garbage:' .. generation, 1) end

-- The maximum number of imports at a time. Each import needs as much memory as the dictionary.
local MOST_BUILDS = 4

-- A dictionary without live generation and imports has no profile.
local function forget_profile()
  if not meta('live') and #fields_of('build:') == 0 then redis.call('HDEL', KEYS[1], 'profile', 'committed') end
end

local function give_up(import, generation)
  redis.call('HDEL', KEYS[1], 'build:' .. import)
  discard(generation)
  forget_profile()
end

-- Abandons silent imports and returns the ids of the others.
local function give_up_silent()
  local alive = {}
  for _, build in ipairs(fields_of('build:')) do
    local heard = tonumber(redis.call('HGET', key_of('state', build[2]), 'heard')) or 0
    -- An import must not stay forever because the clock was set back.
    if math.abs(started - heard) > IMPORT_SILENCE then
      give_up(build[1], build[2])
    else
      alive[#alive + 1] = build[1]
    end
  end
  return alive
end
