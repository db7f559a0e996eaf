-- For scripts about several resources of one bucket.
-- @include state.lua

-- Forgets all that the script knows of a resource, so that `begin` can read the next one. The bucket and the clock stay.
local function next_resource(state_key)
  KEYS[1] = state_key -- STATE_KEY
  key_start, key_end = nil, nil
  meta, lease_ids, lease_ends, tombs = empty_meta(), {}, {}, ''
  change, had_change, records, unsaved, past_times, past_numbers = {}, false, {}, {}, {}, {}
  expiring, known_ends, watchers, is_shown_changed, more = {}, {}, false, false, false
end
