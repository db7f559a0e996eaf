#!lua flags=allow-oom
-- Puts the epochs of buckets in force for the run of Redis that executes this script. An epoch is a text:
--
--     run_id durability quarantine overlap [since until shift cause]
--
--   run_id      the layout of the leases (leases/scripts/shared/layout.lua), the run of Redis for which the epoch is in
--               force, and its term as master (src/redis/epochs/known-run.ts)
--   durability  a: the run had every acknowledged write on disk; w: not always
--   quarantine  the longest quarantine of the bucket's servers (ms)
--   overlap     how long another run may have granted after this run took over (ms)
-- While grants pause:
--   since       start of the pause (us)
--   until       end of the pause (us)
--   shift       how far Redis's clock was set forward (us)
--   cause       forgotten (there was no epoch), restarted, or clock
--
-- KEYS   epochs
-- ARGV   1 run_id of the connection that sends this script  2 durability in force: a or w  3 quarantine (ms)
--        4 run_id that this server knew before ("": none)  5 a bucket without an epoch is: 1 new, 0 forgotten
--        6 how far Redis's clock was set forward (us; 0: not)
--        7 time after which the server no longer waits for the answer (us)
--        8 overlap of this run (ms)
--        9 run_ids of source runs, separated by spaces: runs of other nodes that moved buckets here without a loss
-- Reply  the header (shared/reply.lua) with how long the last pause lasts (us), and
--        OK number_of_new_pauses number_of_pauses cause_of_the_last_pause quarantine_ms durability overlap_ms
--        STALE                             the script ran too late and did nothing
--        LAYOUT layout                     a bucket has leases of another layout; the script did nothing
-- Holds  A repeated call, or a call of another server, neither shortens nor restarts a pause. Only a step forward of the
--        clock restarts a pause, and each server reports a step once.
--
-- @include shared/layout-of.lua
-- @include shared/reply.lua
local run_id, durability, quarantine, known_run = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local is_new, set_forward = ARGV[5] == '1', tonumber(ARGV[6])
local not_after, overlap = tonumber(ARGV[7]), tonumber(ARGV[8])
local source_runs = ' ' .. ARGV[9] .. ' '
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
-- The server's facts about runs may be out of date by now.
if now > not_after then return reply('STALE', 0, {}, now, 0) end

local own_layout = string.match(run_id, '^L(%d+):') or '0'
for _, key in ipairs(KEYS) do
  local layout = layout_of(redis.call('GET', key))
  if layout and layout ~= own_layout then return reply('LAYOUT', 0, {}, now, 0, layout) end
end

local new_pause_count, pause_count, left, last_cause = 0, 0, 0, ''
local longest_quarantine, weakest, longest_overlap = quarantine, durability, overlap
for _, key in ipairs(KEYS) do
  local before = redis.call('GET', key)
  local id, kept, longest, epoch_overlap, since, ends_at, shift, cause =
    string.match(before or '', '^(%S+) (%a) (%d+) (%d+) ?(%d*) ?(%d*) ?(%d*) ?(%a*)$')
  longest, since = math.max(tonumber(longest) or 0, quarantine), tonumber(since)
  ends_at, shift = tonumber(ends_at), tonumber(shift)
  -- The settings that bound the overlap may change within a run.
  local new_overlap = id == run_id and math.max(overlap, tonumber(epoch_overlap)) or overlap
  if (ends_at or 0) <= now then ends_at, shift = nil, nil end
  local function pause(reason)
    -- An unfinished pause keeps its cause, because a pause for `clock` would permit more renewals.
    if not (ends_at and reason == 'clock') then cause = reason end
    since, ends_at, shift = now, now + longest * 1000, math.max(shift or 0, set_forward)
    new_pause_count = new_pause_count + 1
  end

  if not id then
    kept = durability
    if not is_new then pause('forgotten') end
  elseif id ~= run_id then
    -- No data is lost if both runs are durable and no other run was in between, or if a source run moved the bucket here.
    local is_whole = kept == 'a' and durability == 'a' and (known_run == '' or known_run == id)
    if string.find(source_runs, ' ' .. id .. ' ', 1, true) then is_whole = true end
    kept = durability
    if not is_whole then pause('restarted') end
  else
    if durability ~= 'a' then kept = durability end
    -- If this server has the longest quarantine, a running pause becomes longer.
    if ends_at then ends_at = since + longest * 1000 end
  end
  if set_forward > 0 then pause('clock') end
  -- If Redis's clock was set back, the pause would end too late.
  if ends_at then ends_at = math.min(ends_at, now + longest * 1000) end

  local after = string.format('%s %s %d %d', run_id, kept, longest, new_overlap)
  if ends_at then
    after = string.format('%s %d %d %d %s', after, math.min(since, now), ends_at, shift, cause)
    pause_count = pause_count + 1
    if ends_at - now > left then left, last_cause = ends_at - now, cause end
  end
  if after ~= before then redis.call('SET', key, after) end
  longest_quarantine, longest_overlap = math.max(longest_quarantine, longest), math.max(longest_overlap, new_overlap)
  if kept ~= 'a' then weakest = kept end
end
return reply(
  'OK', 0, {}, now, left, new_pause_count, pause_count, last_cause, longest_quarantine, weakest, longest_overlap)
