-- @include dictionary.lua
-- @include feed.lua
-- @include generation.lua
-- @include imports.lua

-- A commit that must follow more writes than one script can follow is kept in `committing` of meta: import id, generation,
-- id of the write, and the time after which the commit must not be done (us). Until then no script adds a write: each
-- writer does the next step of the commit first. So the number of writes to follow only falls, and the commit ends.
--

-- Returns the values of `committing`, or nil without such a commit.
local function open_commit()
  if not meta[8] then return nil end
  local commit = cmsgpack.unpack(meta[8])
  if now <= commit[4] and redis.call('HEXISTS', KEYS[1], 'import:' .. commit[1]) == 1 then return commit end
end

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

-- Work that writes wait for. The server of a waiting writer does it step by step, so no writer waits for another server.
--

-- Lets the import that is furthest behind follow the next writes. Ends an import of a dead server.
local function follow_slowest()
  give_up_silent()
  local slowest, least = nil, version
  for _, import in ipairs(fields_of('import:')) do
    local followed = tonumber(redis.call('HGET', key_head .. 'state:' .. import[2], 'followed'))
    if followed < least then slowest, least = import, followed end
  end
  if slowest and follow(open_generation(slowest[2])) == 'LOST' then give_up(slowest[1], slowest[2]) end
end

-- Does a step of the work. Returns true if writes need not wait any more, and true if no element of the feed is left to
-- trim now.
local function finish_step()
  local commit = open_commit()
  if commit then
    commit_step(commit[1], commit[2], commit[3])
    return false
  end
  local entries = open_live()
  if pending then write_pending(entries) end
  local has_room, is_trimmed = trim_feed(entries)
  save_generation(entries)
  if not has_room then follow_slowest() end
  return has_room and not pending, is_trimmed
end
