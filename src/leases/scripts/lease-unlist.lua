#!lua flags=allow-oom
-- Removes unused names from a bucket's index: locks that were not used for a minute, and names without a state and a limit.
-- A name that is in use again stays.
--
-- KEYS   1 index of names of a bucket and a service (shared/layout.lua)  2 epoch of the bucket
-- Args   layout: the version of the server's layout of leases  names: at most 64, as a JSON array
-- Reply  { number of names that left the index }
--        nothing                           the bucket has leases of another layout
-- Holds  A name that is in use is in the index afterwards. May run late or twice: the script checks each name itself.
--
-- @include shared/epoch-check.lua
-- @include shared/other-names.lua
local layout, names = ...

if not may_look(layout) then return {} end
open_index()

local left = 0
for _, name in ipairs(cjson.decode(names)) do
  local head = select_name(name)
  if is_unused() then
    if meta.is_listed then
      redis.call('HSET', STATE_KEY, 'h', string.char(string.byte(head) - 2) .. string.sub(head, 2))
    end
    left = left + redis.call('ZREM', index_key, name)
  end
end
return { left }
