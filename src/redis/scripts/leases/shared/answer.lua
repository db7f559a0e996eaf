-- The last step of a script: `answer` writes all changes and makes the reply.
-- @include state.lua

-- Writes all changes in one command, and lets each touched key expire at the retention time after the last lease's end.
-- A key that the script did not touch keeps its expiry, because its members end earlier.
local function answer(retention_ms, word, ...)
  meta.till = math.max(meta.till, now)
  local has_change = next(change) ~= nil
  if meta.limit or has_change then
    -- A script with `own_only` does not update `seen`: the next script must still see the stall before, and a clock that
    -- was set back.
    local fields = own_only and {} or { 'seen', NOW_TEXT }
    for _, name in ipairs(NUMBERS) do
      local number = meta[name]
      if number and number ~= stored[name] then
        fields[#fields + 1] = name
        fields[#fields + 1] = int(number)
      end
    end
    if has_change then
      fields[#fields + 1], fields[#fields + 2] = 'moving', cmsgpack.pack(change)
    elseif had_change then
      redis.call('HDEL', STATE_KEY, 'moving')
    end
    for id in pairs(unsaved) do
      fields[#fields + 1] = 'r' .. id
      fields[#fields + 1] = cmsgpack.pack(records[id])
    end
    if #fields > 0 then redis.call('HSET', STATE_KEY, unpack(fields)) end
    local expires_at = now + REMEMBER_US -- a deleted semaphore keeps only its tombstones
    if meta.limit then expires_at = meta.till + retention_ms * 1000 end
    -- STATE_KEY already has the right expiry if neither the limit nor the latest end is new.
    if not meta.limit or not stored.limit or meta.till ~= stored.till then touched_keys[STATE_KEY] = true end
    local expires_at_ms = int(math.floor(expires_at / 1000))
    for key in pairs(touched_keys) do redis.call('PEXPIREAT', key, expires_at_ms) end
  elseif had_change then
    redis.call('UNLINK', STATE_KEY, ENDED_KEY) -- the semaphore was deleted and is no longer remembered
  end
  -- The header of reply.lua. A call of `reply` would take 0.1 us in every grant and every release.
  return { word, own_only or (more and 1 or 0), news, NOW_TEXT, paused_us, ... }
end
