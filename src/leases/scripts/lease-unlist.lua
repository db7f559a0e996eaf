#!lua flags=allow-oom
-- Removes unused names from a bucket's index: locks that were not used for a minute, and names without a state and a limit.
-- A name that is in use again stays.
--
-- KEYS   1 index of names of a bucket and a service (shared/layout.lua)  2 epoch of the bucket
-- ARGV   1 version of the server's layout of leases  2.. names, at most 64
-- Reply  { number of names that left the index }
--        nothing                           the bucket has leases of another layout
-- Holds  A name that is in use is in the index afterwards. May run late or twice: the script checks each name itself.
--
-- @include ../../redis/scripts/shared/layout-of.lua
-- @include shared/other-names.lua
-- @include shared/state.lua
local layout = ARGV[1]

local epoch = redis.call('GET', EPOCH_KEY)
local stored_layout = layout_of(epoch)
if stored_layout and stored_layout ~= layout then return {} end
clock_shift = clock_shift_of(epoch)

local left = 0
for i = 2, #ARGV do
  local name = ARGV[i]
  local head = select_name(name)
  if is_unused() then
    if meta.is_listed then
      redis.call('HSET', STATE_KEY, 'h', string.char(string.byte(head) - 2) .. string.sub(head, 2))
    end
    left = left + redis.call('ZREM', index_key, name)
  end
end
return { left }
