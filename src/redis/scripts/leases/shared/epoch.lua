-- Whether a script may end, promote and grant. Every script that may has two arguments
-- more than its header names: the epoch that its server expects of the bucket, and the time after which nobody waits for
-- its answer (us). What an epoch says:
-- epoch-adopt.lua.
local EPOCH = KEYS[8]

-- The reply of a script that may not, a bare header (answers.lua), else nothing:
--   STALE        too late, or Redis's clock is not what the server takes it for
--   EPOCH        this Redis is not the one that the bucket was last in force for: it may have forgotten leases
--   QUARANTINED  it has, perhaps, and leases may be believed that are not here
-- Such a script changes nothing of others. Its own lease may be released, its own wait ended; and renewed, if not STALE,
-- where it lasts beyond `rival`.
local function turned_back()
  local expected, not_after = ARGV[#ARGV - 1], tonumber(ARGV[#ARGV])
  alone = 1
  if now > not_after then return { 'STALE', 0, {}, NOW, 0 } end
  local epoch = redis.call('GET', EPOCH)
  if epoch == expected then
    alone = nil
    return nil
  end
  local run_id, overlap, since, ends_at, set_forward, cause =
    string.match(epoch or '', '^(%S+) %a %d+ (%d+) ?(%d*) ?(%d*) ?(%d*) ?(%a*)')
  alone = 2
  local expected_run, expected_overlap = string.match(expected, '^(%S+) %a %d+ (%d+)')
  if run_id ~= expected_run then
    rival = now + expected_overlap * 1000
    return { 'EPOCH', 0, {}, NOW, 0 }
  end
  local left = (tonumber(ends_at) or 0) - now
  if left <= 0 then
    alone = nil
    return nil
  end
  shift = tonumber(set_forward)
  if cause ~= 'clock' then rival = since + overlap * 1000 end
  paused = left
  return { 'QUARANTINED', 0, {}, NOW, paused }
end
