-- @include imports.lua
-- @include generation.lua
-- @include feed.lua
-- @include follow.lua
-- @include pending.lua
-- @include owner.lua

-- Finishes a put, then follows the next writes, and replaces the live generation after the last write. Returns OK, AGAIN
-- (work is left) or LOST (the import has ended, because the feed lacks a write).
local function commit_step(import, generation, write_id)
  -- The replaced generation must contain all its writes, for the servers that load it.
  if pending then
    local entries = open_live()
    write_pending(entries)
    save_generation(entries)
    return 'AGAIN'
  end
  local build = open_generation(generation)
  local word = follow(build)
  if word == 'LOST' then give_up(import, generation) end
  if word ~= 'OK' then return word end
  if live then
    redis.call('HSET', key_head .. 'state:' .. live, 'ended', int(version), 'end_tail', tail)
    -- The effects of the writes of the generation before are removed, so a repetition may not find the effect any more.
    local trimmed = meta[7] and int(now) or redis.call('HGET', key_head .. 'state:' .. live, 'trimmed')
    if trimmed then redis.call('HSET', key_head .. 'state:' .. generation, 'trimmed', trimmed) end
    redis.call('HSET', KEYS[1], 'previous', live)
    -- Only one replaced generation is kept, because each needs as much memory as the dictionary.
    for _, garbage in ipairs(fields_of('garbage:')) do discard(garbage[1], now) end
    discard(live, now + REPLACED_US)
  else
    -- An import that an older server has started has no owner.
    set_owner(redis.call('HGET', key_head .. 'state:' .. generation, 'owner') or '')
  end
  live = generation
  redis.call('HSET', KEYS[1], 'live', generation, 'committed', import)
  redis.call('HDEL', KEYS[1], 'import:' .. import, 'committing')
  redis.call('HINCRBY', KEYS[1], 'generation', 1)
  for _, other in ipairs(fields_of('import:')) do give_up(other[1], other[2]) end
  redis.call(
    'HDEL', key_head .. 'state:' .. generation, 'started', 'heard', 'received', 'sequence', 'source', 'followed', 'at',
    'chunks', 'owner')
  discard_pins(generation)
  add_write(build, write_id, 'c', cmsgpack.pack({}), 1)
  save_generation(build)
  return 'OK'
end
