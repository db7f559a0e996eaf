#!lua flags=allow-oom
-- Does one step of the remaining work: finishes a put or a commit, trims the feed, gives up silent imports, removes old
-- generations.
--
-- KEYS  the dictionary's meta (shared/dictionary.lua)
-- Reply MORE (call again) | LATER (an import runs, or an old generation is kept) | CLEAN | GONE (no key is left)
--       | FORMAT number
-- Holds Any server may call the script any number of times.
--
-- @include shared/commit.lua
-- @include shared/feed.lua
-- @include shared/generation.lua
-- @include shared/imports.lua

-- The most keys that one step removes.
local REMOVED_KEYS = 64
-- The buckets of 6.5 million entries or 1 GiB, and more puts than a feed has.
local MOST_BUCKETS = 131072
local MOST_STAGED = 1000000

-- Removes some keys of a generation. Returns true if no key is left.
local function remove_some(generation)
  local of = open_generation(generation)
  local state, keys = key_head .. 'state:' .. generation, {}
  -- Redis has lost the state.
  if not of.stored[3] then of.buckets, of.staged = MOST_BUCKETS, MOST_STAGED end
  while #keys < REMOVED_KEYS and of.buckets > 0 do
    of.buckets = of.buckets - 1
    keys[#keys + 1] = of.head .. of.buckets
  end
  if #keys > 0 then
    redis.call('UNLINK', unpack(keys))
    redis.call('HSET', state, 'buckets', int(of.buckets), 'staged', int(of.staged), 'removed', 1)
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

if live then
  local is_finished, is_trimmed = finish_step()
  if not is_finished or not is_trimmed then return { 'MORE' } end
end
local imports, kept = give_up_silent(), 0
for _, garbage in ipairs(fields_of('garbage:')) do
  local left = garbage[2] - now
  if garbage[1] == live then
    -- No script marks the live generation. The entries must survive such a mistake.
    redis.call('HDEL', KEYS[1], 'garbage:' .. live)
  elseif left > 0 and left <= 2 * REPLACED_US then
    kept = kept + 1
  else
    -- The generation is due, or the clock was set back. After a step back, waiting until the stored time would take too
    -- long, so the generation is removed early. Then a repeated write may not find its effect any more.
    if left > 0 and garbage[1] == meta[7] then
      redis.call('HSET', key_head .. 'state:' .. live, 'trimmed', int(now))
    end
    remove_some(garbage[1])
    return { 'MORE' }
  end
end
if imports + kept > 0 then return { 'LATER' } end
if live then return { 'CLEAN' } end
redis.call('DEL', KEYS[1])
return { 'GONE' }
