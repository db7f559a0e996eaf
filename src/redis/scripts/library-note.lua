#!lua flags=allow-oom
-- Notes that a server uses its library of functions, and finds libraries that no server has noted for KEPT_US.
--
-- KEYS   1 hash: name of a library -> time of its last note (us)
-- ARGV   1 name of the server's library  2.. names of the other libraries that this Redis has
-- Reply  the names of unused libraries
-- Holds  A library is noted when it is first seen, and forgotten when Redis no longer has it.
local KEPT_US = 604800000000 -- 7 days; a server notes its library once an hour

local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local unused, notes = {}, {}
for i, name in ipairs(ARGV) do
  local noted = tonumber(redis.call('HGET', KEYS[1], name))
  -- A time after the present: Redis's clock was set back.
  if i == 1 or not noted or noted > now then noted = now end
  if now - noted > KEPT_US then unused[#unused + 1] = name end
  notes[2 * i - 1], notes[2 * i] = name, string.format('%d', noted)
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], unpack(notes))
redis.call('PEXPIRE', KEYS[1], 2 * KEPT_US / 1000)
return unused
