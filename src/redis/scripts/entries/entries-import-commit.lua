#!lua flags=allow-oom
-- Makes the generation that an import has built the live generation.
--
-- KEYS  the dictionary's meta (shared/dictionary.lua)
-- ARGV  1 import id  2 id of this write  3 number of sent chunks  4, 5 the time arguments of `runTimed`
-- Reply OK | AGAIN (a put is finished first, or writes of the live generation are left to follow) | LOST (no such import,
--       the feed lacks a write, or the store has lost a chunk) | LATE | FORGOTTEN | FORMAT number
-- Holds A commit replaces the live generation in a single step, and ends all other imports. A repeated commit gets the
--       same answer. The replaced generation is kept for a while, for servers that load it.
--
-- @include shared/imports.lua
-- @include shared/generation.lua
-- @include shared/feed.lua
-- @include shared/follow.lua
-- @include shared/pending.lua
-- @include shared/timed.lua

local import, write_id = ARGV[1], ARGV[2]
local generation = redis.call('HGET', KEYS[1], 'import:' .. import)
if not generation then
  if redis.call('HGET', KEYS[1], 'committed') == import then return { 'OK' } end
  -- Another commit may have followed the commit by an earlier send.
  return { may_have_run and 'FORGOTTEN' or 'LOST' }
end
local refused = refusal()
if refused then return refused end
-- A failover may lose chunks that were answered.
if (redis.call('HGET', key_head .. 'state:' .. generation, 'sequence') or '0') ~= ARGV[3] then return { 'LOST' } end
-- The replaced generation must contain all its writes, for the servers that load it.
if pending then
  local entries = open_live()
  write_pending(entries)
  save_generation(entries)
  return { 'AGAIN' }
end
local build = open_generation(generation)
local word = follow(build)
if word ~= 'OK' then return { word } end

if live then
  redis.call('HSET', key_head .. 'state:' .. live, 'ended', int(version), 'end_tail', tail)
  -- The effects of the writes of the generation before are removed, so a repetition may not find the effect any more.
  local trimmed = meta[7] and int(now) or redis.call('HGET', key_head .. 'state:' .. live, 'trimmed')
  if trimmed then redis.call('HSET', key_head .. 'state:' .. generation, 'trimmed', trimmed) end
  redis.call('HSET', KEYS[1], 'previous', live)
  -- Only one replaced generation is kept, because each needs as much memory as the dictionary.
  for _, garbage in ipairs(fields_of('garbage:')) do discard(garbage[1], now) end
  discard(live, now + REPLACED_US)
end
redis.call('HSET', KEYS[1], 'live', generation, 'committed', import)
redis.call('HDEL', KEYS[1], 'import:' .. import)
redis.call('HINCRBY', KEYS[1], 'generation', 1)
for _, other in ipairs(fields_of('import:')) do
  redis.call('HDEL', KEYS[1], 'import:' .. other[1])
  discard(other[2], now)
end
redis.call(
  'HDEL', key_head .. 'state:' .. generation, 'started', 'heard', 'received', 'sequence', 'source', 'followed', 'at',
  'chunks')
redis.call('UNLINK', key_head .. 'pins:' .. generation)
add_write(build, write_id, 'c', cmsgpack.pack({}), 1)
save_generation(build)
return { 'OK' }
