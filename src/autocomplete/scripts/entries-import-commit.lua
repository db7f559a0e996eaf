#!lua flags=allow-oom
-- Makes the generation that an import has built the live generation.
--
-- KEYS  the dictionary's meta (shared/dictionary.lua)
-- ARGV  1 import id  2 id of this write  3 number of sent chunks  4 1 after an AGAIN: writers may complete the commit
--       5, 6 the time arguments of `runTimed`
-- Reply OK | AGAIN (writes of the live generation are left to follow; writers may complete the commit) | LOST (no such
--       import, the feed lacks a write, or the store has lost a chunk) | LATE | FORGOTTEN | FORMAT number
-- Holds A commit replaces the live generation in a single step, and ends all other imports. A repeated commit gets the
--       same answer. The replaced generation is kept for a while, for servers that load it.
--
-- @include shared/commit.lua
-- @include shared/timed.lua

local import, write_id = ARGV[1], ARGV[2]
local generation = redis.call('HGET', KEYS[1], 'import:' .. import)
if not generation then
  if redis.call('HGET', KEYS[1], 'committed') == import then return { 'OK' } end
  -- Another commit may have followed this commit, if an earlier send or a writer completed this commit.
  return { (may_have_run or ARGV[4] == '1') and 'FORGOTTEN' or 'LOST' }
end
local first, refused = open_commit(), refusal()
if refused then
  -- The caller has got a failure, so writers must not complete the commit later.
  if first and first[1] == import then redis.call('HDEL', KEYS[1], 'committing') end
  return refused
end
local state = key_head .. 'state:' .. generation
-- A failover may lose chunks that were answered.
if (redis.call('HGET', state, 'sequence') or '0') ~= ARGV[3] then return { 'LOST' } end
redis.call('HSET', state, 'heard', int(now))
if first and first[1] ~= import then
  commit_step(first[1], first[2], first[3])
  return { 'AGAIN' }
end
local word = commit_step(import, generation, write_id)
if word == 'AGAIN' then
  redis.call('HSET', KEYS[1], 'committing', cmsgpack.pack({ import, generation, write_id, not_after }))
end
return { word }
