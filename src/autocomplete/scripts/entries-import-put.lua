#!lua
-- Puts one chunk of entries into the generation that an import builds.
--
-- KEYS  the dictionary's meta (shared/dictionary.lua)
-- ARGV  1 import id  2 number of the chunk, from 1; 0 for a sign of life  3 { id, record, id, record, ... } in msgpack
-- Reply OK | LOST (no such import, or the store has lost an earlier chunk) | FORMAT number
-- Holds A repeated chunk changes nothing. The chunk does not overwrite writes that the import has followed. An entry gets
--       the selections of the live entry.
--
-- @include shared/generation.lua
local import, sequence = ARGV[1], tonumber(ARGV[2])
local generation = redis.call('HGET', KEYS[1], 'import:' .. import)
if not generation then return { 'LOST' } end
local state = key_head .. 'state:' .. generation
redis.call('HSET', state, 'heard', int(now))
local received = tonumber(redis.call('HGET', state, 'sequence') or 0)
if sequence <= received then return { 'OK' } end
-- A failover may lose chunks that were answered.
if sequence > received + 1 then return { 'LOST' } end

local build, source, pins = open_generation(generation), open_generation(live or ''), open_generation(generation .. ':pins')
local changes = cmsgpack.unpack(ARGV[3])
for i = 1, #changes, 2 do
  local id = changes[i]
  if pins.count == 0 or redis.call('HEXISTS', bucket_of(pins, id), id) == 0 then
    put_entry(build, id, changes[i + 1])
    set_selections(build, id, selections_of(source, id))
  end
end
save_generation(build)
redis.call('HSET', state, 'sequence', sequence)
redis.call('HINCRBY', state, 'received', #changes / 2)
return { 'OK' }
