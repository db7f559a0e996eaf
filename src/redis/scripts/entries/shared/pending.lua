-- A put of several chunks is committed when its element joins the feed. Then the chunks are written to the buckets, one in
-- each step. `pending` of meta is: id of the put, number of chunks, next chunk, tail before the put. The chunks last until the
-- element leaves the feed, which is after the last step, because other writes wait for the put.
--
-- @include dictionary.lua
-- @include generation.lua

-- Writes one chunk of the pending put to the buckets. Must precede all changes of the script, because it may end the script.
local function write_pending(of)
  local id, count, next_chunk, before = unpack(cmsgpack.unpack(pending))
  local chunk = redis.call('GET', key_head .. 'stage:' .. id .. ':' .. next_chunk)
  if not chunk then damaged('a chunk of a committed put') end
  local changes = cmsgpack.unpack(chunk)
  for i = 1, #changes, 2 do put_entry(of, changes[i], changes[i + 1]) end
  next_chunk = next_chunk + 1
  pending = next_chunk < count and cmsgpack.pack({ id, count, next_chunk, before })
  if pending then
    redis.call('HSET', KEYS[1], 'pending', pending)
  else
    redis.call('HDEL', KEYS[1], 'pending')
  end
end
