#!lua flags=no-writes
-- Examines some names of a bucket's index, in the order of their bytes, and answers the names that a list shows: locks with
-- a holder or a waiter, and all semaphores. Expired leases do not count.
--
-- KEYS   1 index of names of a bucket and a service (shared/layout.lua)  2 epoch of the bucket
-- Args   layout: the version of the server's layout of leases  prefix: of the names to examine
--        after: examine the names after this name ("": from the first)  most_examined, most_names: how many names to
--        examine, and to answer  holder_id: only resources that show a holder or a waiter with this holder_id ("": any)
--        wants_views: 1 answers views of resources, 0 numbers of waiters  most_people: the most holders, and the most
--        waiters, to show  identity: only resources that show a holder or a waiter with this identity; with a holder_id,
--        one that has both ("": any)
-- Reply  { { name, resource_view, is_inexact } or { name, number of waiters } ... },
--        last examined name ("": no more names), number of examined names,
--        { names that may leave the index (lease-unlist.lua) ... }
--                                          is_inexact is 1 if the permits in use may count expired leases, else 0
--        nothing                           the bucket has leases of another layout
-- Holds  Read-only, so a replica may answer. Stops after MOST_WORK, a bound for the records that the script reads.
--
-- @include shared/epoch-check.lua
-- @include shared/other-names.lua
-- @include shared/state.lua
-- @include shared/views.lua
local layout, prefix, after, most_examined, most_names, holder_id, wants_views, most_people, identity = ...
most_names, wants_views, most_people = tonumber(most_names), wants_views == '1', tonumber(most_people)
local MOST_WORK = 64 -- in records; METADATA_BYTES of metadata count as one more
local METADATA_BYTES = 512

if not may_look(layout) then return {} end
open_index()

local function is_in_use()
  if has_semaphores then return meta.limit ~= nil end
  if meta.queue > 0 then return true end
  local latest = now - clock_shift -- the latest end of an expired lease
  if meta.is_spilled == 1 and redis.call('ZCOUNT', key_of('ends'), '(' .. int(latest), '+inf') > 0 then return true end
  for _, time in ipairs(lease_ends) do
    if time > latest then return true end
  end
  return meta.offers > 0 and redis.call('ZCOUNT', key_of('offers'), '(' .. now_text, '+inf') > 0
end

local is_filtered = holder_id ~= '' or identity ~= ''

-- `identity_at`: the place of the identity in the view of a holder, or of a waiter.
local function shows(part, identity_at)
  for _, one in ipairs(part) do
    local has_label = holder_id == '' or one[1] == holder_id
    if has_label and (identity == '' or one[identity_at] == identity) then return true end
  end
end

local work = 0
local function look(name)
  select_name(name)
  if not is_in_use() then return nil end
  if not wants_views and not is_filtered then return { name, meta.queue } end
  more = false
  local view = resource_view(most_people)
  for _, request in pairs(records) do
    work = work + 1 + (request and #request.metadata / METADATA_BYTES or 0)
  end
  if is_filtered and not (shows(view[6], 9) or shows(view[7], 6)) then return nil end
  return wants_views and { name, view, more and 1 or 0 } or { name, meta.queue }
end

-- No name has the byte 255, which is no UTF-8.
local names = redis.call(
  'ZRANGEBYLEX', index_key, after == '' and '[' .. prefix or '(' .. after, '(' .. prefix .. '\255', 'LIMIT', '0',
  most_examined)
local shown, unused, examined = {}, {}, 0
for _, name in ipairs(names) do
  if #shown == most_names or work >= MOST_WORK then break end
  shown[#shown + 1] = look(name)
  if is_unused() then unused[#unused + 1] = name end
  examined = examined + 1
end
local is_end = examined == #names and examined < tonumber(most_examined)
return { shown, is_end and '' or names[examined], examined, unused }
