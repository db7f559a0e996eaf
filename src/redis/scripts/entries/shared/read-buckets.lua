-- @include dictionary.lua

-- A read ends after the bucket that reaches one of these bounds.
local MOST_FIELDS = 1100
local MOST_BYTES = 262144

-- Reads the buckets of a generation from `bucket` on. Returns the number of buckets, the next bucket, and each bucket as
-- { field, value, field, value, ... } in msgpack, one after the other.
local function read_buckets(generation, bucket, buckets)
  local head, packed, fields, bytes = key_head .. 'e:' .. generation .. ':', {}, 0, 0
  while bucket < buckets and fields < MOST_FIELDS and bytes < MOST_BYTES do
    local content = redis.call('HGETALL', head .. bucket)
    local one = cmsgpack.pack(content)
    packed[#packed + 1] = one
    fields = fields + #content / 2 + 1
    bytes = bytes + #one
    bucket = bucket + 1
  end
  return int(buckets), int(bucket), table.concat(packed)
end
