#!lua flags=allow-oom
-- Does one step of the remaining work: finishes a put or a commit, trims the feed, gives up silent imports, removes old
-- generations.
--
-- KEYS  the dictionary's meta (shared/dictionary.lua)
-- Reply MORE (call again) | LATER (an import runs, or an old generation is kept) | CLEAN | GONE (no key is left)
--       | FORMAT number
-- Holds Any server may call the script any number of times.
--
-- @include shared/imports.lua
-- @include shared/generation.lua
-- @include shared/feed.lua
-- @include shared/unfinished.lua

-- The most keys that one step removes.
local REMOVED_KEYS = 64

-- Removes some keys of a generation. Returns true if no key is left.
local function remove_some(generation)
  local of = open_generation(generation)
  local state, keys = key_head .. 'state:' .. generation, {}
  while #keys < REMOVED_KEYS and of.buckets > 0 do
    of.buckets = of.buckets - 1
    keys[#keys + 1] = of.head .. of.buckets
  end
  if #keys > 0 then
    redis.call('UNLINK', unpack(keys))
    redis.call('HSET', state, 'buckets', int(of.buckets), 'removed', 1)
    return false
  end
  local feed = key_head .. 'feed:' .. generation
  for _ = 1, of.staged > 0 and TRIM_BATCH or 0 do
    local element = redis.call('LINDEX', feed, 0)
    if not element then break end
    local at, header = cmsgpack.unpack_one(element)
    remove_first(of, element, header, at)
  end
  if of.staged > 0 and redis.call('EXISTS', feed) == 1 then
    redis.call('HSET', state, 'staged', int(of.staged))
    return false
  end
  redis.call('UNLINK', feed, state, key_head .. 'done:' .. generation)
  redis.call('HDEL', KEYS[1], 'garbage:' .. generation)
  if meta[7] == generation then redis.call('HDEL', KEYS[1], 'previous') end
  return true
end

if live and not finish_step() then return { 'MORE' } end
local imports, kept = give_up_silent(), 0
for _, garbage in ipairs(fields_of('garbage:')) do
  -- A generation must not stay for longer because the clock was set back.
  local left = garbage[2] - now
  if left > 0 and left <= REPLACED_US then
    kept = kept + 1
  else
    remove_some(garbage[1])
    return { 'MORE' }
  end
end
if imports + kept > 0 then return { 'LATER' } end
if live then return { 'CLEAN' } end
redis.call('DEL', KEYS[1])
return { 'GONE' }
