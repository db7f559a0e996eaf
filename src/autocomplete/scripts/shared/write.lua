-- The checks before each write of the live generation. The script ends here in four cases: the write was done before (OK
-- and the first effect), the write comes too late (LATE, see timed.lua), the write is a repetition and its effect may have
-- been removed (FORGOTTEN), or other work must be done first (AGAIN).
--
-- @include commit.lua
-- @include feed.lua
-- @include generation.lua
-- @include timed.lua

if not live then return { 'UNKNOWN' } end

local write_id = ARGV[1]

local entries = open_live()

local effect = redis.call('HGET', key_head .. 'done:' .. live, write_id)

if not effect and meta[7] then effect = redis.call('HGET', key_head .. 'done:' .. meta[7], write_id) end

if effect then return { 'OK', effect } end

local refused = refusal()

if refused then return refused end

if may_have_run then
  local trimmed = redis.call('HGET', key_head .. 'state:' .. live, 'trimmed')
  if trimmed and math.abs(now - trimmed) < KEPT_US then return { 'FORGOTTEN' } end
end

-- Saves the numbers of the trimmed feed immediately, because a write without an effect saves nothing later.
local function make_room()
  local has_room = entries.feed <= MOST_FEED_BYTES or trim_feed(entries)
  save_generation(entries)
  return has_room
end

if pending or open_commit() then
  if pending then write_pending(entries) end
  save_generation(entries)
  return { 'AGAIN' }
end

if not make_room() then return { 'AGAIN' } end
