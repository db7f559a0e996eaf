-- A dictionary and its generations: what the dictionary scripts share.
--
-- KEYS[1] is the dictionary's `meta`, a hash:
--   profile      accents ('k' kept, 'd' dropped) .. typos ('t', '-') .. fold version
--   live         the generation that answers; absent while there is none (a first import is being built)
--   generation   how many have been live
--   build:ID     the generation that the import ID builds aside
--   garbage:G    a generation that is being taken apart
--   committed    the import that was committed last, so that its repeat gets the same answer
--   jobs         changes of entries that a bounded step has not finished (see jobs.lua)
-- All other keys belong to one generation, whose id is never used again. Their names are made from KEYS[1], so they
-- are in its slot:
--   entries:G    hash of the entries, by number (see `pack_entry`)
--   ids:G        hash of the numbers, by entry id
--   state:G      hash: next (number to give out), count; of a build also started, heard (us), received
--   pins:G       of a build: ids that were put or deleted meanwhile, which its batches must leave alone
--   parts:G      the index's parts, a sorted set of the least record each may hold (see index.lua)
--   part:G       with a zero byte and that record behind the name: the records of one part

-- A build whose import was not heard of for so long is given up (us).
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

-- Pairs of the fields of meta that begin with `head`: what follows it, and the value.
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

-- How many may be built at a time: each costs as much as the dictionary does.
local MOST_BUILDS = 4

-- Of a dictionary that there is not, nor will be, there is no profile either.
local function forget_profile()
  if not meta('live') and #fields_of('build:') == 0 then redis.call('HDEL', KEYS[1], 'profile', 'committed') end
end

local function give_up(import, generation)
  redis.call('HDEL', KEYS[1], 'build:' .. import)
  discard(generation)
  forget_profile()
end

-- The imports under way, without those that were not heard of for long: their servers are gone.
local function give_up_silent()
  local alive = {}
  for _, build in ipairs(fields_of('build:')) do
    local heard = tonumber(redis.call('HGET', key_of('state', build[2]), 'heard')) or 0
    -- A clock that was set back must not keep one for ever.
    if math.abs(started - heard) > IMPORT_SILENCE then
      give_up(build[1], build[2])
    else
      alive[#alive + 1] = build[1]
    end
  end
  return alive
end
