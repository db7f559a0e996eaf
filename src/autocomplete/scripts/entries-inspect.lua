#!lua flags=no-writes
-- Shows a dictionary and its imports; read-only.
--
-- KEYS  the dictionary's meta (shared/dictionary.lua)
-- Reply OK, profile, generation number, number of entries, bytes in Redis (estimated), bytes of the feed among them, and
--       for each import its start (us) and the number of received entries | UNKNOWN | FORMAT number
--
-- @include shared/generation.lua
-- @include shared/imports.lua

-- A few buckets, evenly spread, are measured for all. The generations share this number.
local SAMPLES = 20

local function memory(key) return redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 5) or 0 end

local function memory_of(of, most_samples)
  local samples, sum = math.min(of.buckets, most_samples), 0
  for i = 0, samples - 1 do sum = sum + memory(of.head .. math.floor(i * of.buckets / samples)) end
  return sum / math.max(samples, 1) * of.buckets + of.feed + memory(key_head .. 'state:' .. of.id)
end

if not live then return { 'UNKNOWN' } end

local of, imports = open_live(), {}
local generations = { of }
for i, import in ipairs(fields_of('import:')) do
  imports[i] = redis.call('HMGET', key_head .. 'state:' .. import[2], 'started', 'received')
  generations[#generations + 1] = open_generation(import[2])
  generations[#generations + 1] = open_generation(import[2] .. ':pins')
end
for _, garbage in ipairs(fields_of('garbage:')) do generations[#generations + 1] = open_generation(garbage[1]) end
local bytes = memory(KEYS[1])
for _, generation in ipairs(generations) do
  bytes = bytes + memory_of(generation, math.ceil(SAMPLES / #generations))
end
return {
  'OK', meta[6], redis.call('HGET', KEYS[1], 'generation'), int(of.count), int(bytes), int(of.feed), imports }
