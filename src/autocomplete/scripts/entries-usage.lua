#!lua flags=no-writes
-- Answers the owner and the size of a dictionary; read-only.
--
-- KEYS  the dictionary's meta (shared/dictionary.lua)
-- Reply OK, owner ("": none), number of entries, bytes of their ids and records | UNKNOWN | GONE (unknown, and nothing is left
--       of it) | FORMAT number
-- Holds A dictionary that has lost its state has no entries.
--
-- @include shared/dictionary.lua
if not live then return { redis.call('EXISTS', KEYS[1]) == 1 and 'UNKNOWN' or 'GONE' } end
local numbers = redis.call('HMGET', key_head .. 'state:' .. live, 'count', 'bytes')
return { 'OK', redis.call('HGET', KEYS[1], 'owner') or '', numbers[1] or '0', numbers[2] or '0' }
