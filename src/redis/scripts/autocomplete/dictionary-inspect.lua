#!lua flags=no-writes
-- Shows a dictionary and its imports; read-only.
--
-- KEYS  the dictionary's meta (shared/generations.lua)
-- Reply OK, profile, generation, number of entries, bytes (estimated), and for each import its start (us) and the number
--       of received entries | UNKNOWN
--
-- @include shared/index.lua
local live = meta('live')
if not live then return { 'UNKNOWN' } end

local function memory(key) return redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 5) or 0 end

use_index(live)
local bytes = memory(key_of('entries', live)) + memory(key_of('ids', live)) + memory(index.parts)
local parts = redis.call('ZCARD', index.parts)
if parts > 0 then
  -- A few parts, evenly spread, are measured for all.
  local samples, sum = math.min(parts, 20), 0
  for i = 0, samples - 1 do
    local part = redis.call('ZRANGE', index.parts, math.floor(i * parts / samples), math.floor(i * parts / samples))[1]
    sum = sum + memory(index.part .. part)
  end
  bytes = bytes + sum / samples * parts
end
local imports = {}
for i, build in ipairs(fields_of('build:')) do
  imports[i] = redis.call('HMGET', key_of('state', build[2]), 'started', 'received')
end
local count = redis.call('HGET', key_of('state', live), 'count') or '0'
return { 'OK', meta('profile'), meta('generation'), count, int(bytes), imports }
