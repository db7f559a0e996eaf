-- Puts the epochs of buckets in force for the Redis that runs now. An epoch is a text:
--     run_id durability longest overlap [since until shift cause]
-- Which run of Redis it is in force for, and which time as master in it (`identityOf` in findings.ts); whether that
-- has every acknowledged write on disk (a, else w: the weakest since then); the longest quarantine of its servers (ms);
-- for how long after this run took over another one may have gone on granting (ms). While grants pause: since when,
-- until when (us), how far Redis's clock was set forward (us), and why: forgotten (there was no epoch), restarted, clock.
--
-- KEYS  epochs
-- ARGV  1 run_id of the connection this is sent through  2 durability in force there: a or w  3 quarantine (ms)
--       4 run_id that this server knew before ("": none)  5 a bucket without an epoch is: 1 new, 0 forgotten
--       6 how far Redis's clock was found to be set forward (us; 0: it was not)
--       7 time after which nobody waits for the answer (us)
--       8 overlap of this run (ms)
--       9 run_ids of other nodes that gave buckets away whole and live on, with a space between
-- Reply { word, 0, {}, now, us until no epoch is paused }, the header of all guarded scripts (leases/shared/answers.lua);
--       OK: epochs that paused by this, epochs that are paused, the cause of the pause that ends last, the longest
--       quarantine (ms), the weakest durability, the longest overlap (ms) | STALE
-- Holds Repeated, or by another server, it neither shortens a pause nor begins it anew: the first one counts. Only a
--       clock found set forward begins one anew, and each server finds that once.
local run_id, durability, quarantine, known = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local is_new, set_forward = ARGV[5] == '1', tonumber(ARGV[6])
local not_after, overlap, givers = tonumber(ARGV[7]), tonumber(ARGV[8]), ' ' .. (ARGV[9] or '') .. ' '
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
-- What was known of runs and givers when it was sent is no longer true.
if now > not_after then return { 'STALE', 0, {}, now, 0 } end

local paused, still, left, why, most, weakest, widest = 0, 0, 0, '', quarantine, durability, overlap
for _, key in ipairs(KEYS) do
  local before = redis.call('GET', key)
  local id, kept, longest, other, since, til, shift, cause =
    string.match(before or '', '^(%S+) (%a) (%d+) (%d+) ?(%d*) ?(%d*) ?(%d*) ?(%a*)$')
  longest, since = math.max(tonumber(longest) or 0, quarantine), tonumber(since)
  til, shift = tonumber(til), tonumber(shift)
  local own = id == run_id and math.max(overlap, tonumber(other)) or overlap -- settings may change within a run
  if (til or 0) <= now then since, til, shift = nil, nil, nil end
  local function pause(reason)
    if not (til and reason == 'clock') then cause = reason end -- for a restart more is refused than for a clock
    since = now
    til, shift = math.max(til or 0, now + longest * 1000), math.max(shift or 0, set_forward)
    paused = paused + 1
  end

  if not id then
    kept = durability
    if not is_new then pause('forgotten') end
  elseif id ~= run_id then
    -- A run that this server did not hear of has left nothing; another than it heard of last may have granted.
    local is_whole = kept == 'a' and durability == 'a' and (known == '' or known == id)
    if string.find(givers, ' ' .. id .. ' ', 1, true) then is_whole = true end
    kept = durability
    if not is_whole then pause('restarted') end
  else
    if durability ~= 'a' then kept = durability end
    if til then til = math.max(til, since + longest * 1000) end -- other servers allow longer leases
  end
  if set_forward > 0 then pause('clock') end
  if til then til = math.min(til, now + longest * 1000) end -- Redis's clock was set back

  local after = string.format('%s %s %d %d', run_id, kept, longest, own)
  if til and til > now then
    after = string.format('%s %d %d %d %s', after, math.min(since, now), til, shift, cause)
    still = still + 1
    if til - now > left then left, why = til - now, cause end
  end
  if after ~= before then redis.call('SET', key, after) end
  most, widest = math.max(most, longest), math.max(widest, own)
  if kept ~= 'a' then weakest = kept end
end
return { 'OK', 0, {}, now, left, paused, still, why, most, weakest, widest }
