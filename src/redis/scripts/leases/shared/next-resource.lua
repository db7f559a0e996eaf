-- For scripts about several resources of one bucket.
-- @include state.lua

-- Forgets what the script knows of a resource, before `begin` reads the next one, of the same bucket. `begin` itself sets the
-- variables that are not here, or a renewal does not change them.
local function next_resource(state_key)
  KEYS[1] = state_key -- STATE_KEY
  key_start = nil
  meta, lease_ids, lease_ends = empty_meta(), {}, {}
  change, unsaved, past_times = {}, {}, {}
  expiring, known_ends = {}, {}
end
