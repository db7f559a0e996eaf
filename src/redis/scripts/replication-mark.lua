#!lua flags=allow-oom
-- Makes a write that replicas can confirm: WAIT covers only the writes of its own connection.
--
-- KEYS  a key in the slot of a change, which no other script uses (`markKey` in src/redis/buckets.ts)
-- ARGV  1 time until the key expires (ms)
-- Reply OK
-- Holds Each call writes, also a repeated call.
redis.call('SET', KEYS[1], '', 'PX', ARGV[1])
return 'OK'
