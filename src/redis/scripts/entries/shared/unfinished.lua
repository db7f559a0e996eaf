-- Work that writes wait for. The server of a waiting writer does it step by step, so no writer waits for another server.
--
-- @include dictionary.lua
-- @include open-commit.lua
-- @include commit.lua
-- @include pending.lua

-- Lets the import that is furthest behind follow the next writes. Ends an import of a dead server.
local function follow_slowest()
  give_up_silent()
  local slowest, least = nil, version
  for _, import in ipairs(fields_of('import:')) do
    local followed = tonumber(redis.call('HGET', key_head .. 'state:' .. import[2], 'followed'))
    if followed < least then slowest, least = import, followed end
  end
  if slowest and follow(open_generation(slowest[2])) == 'LOST' then give_up(slowest[1], slowest[2]) end
end

-- Does a step of the work. Returns true if writes need not wait any more, and true if no element of the feed is left to
-- trim now.
local function finish_step()
  local commit = open_commit()
  if commit then
    commit_step(commit[1], commit[2], commit[3])
    return false
  end
  local entries = open_live()
  if pending then write_pending(entries) end
  local has_room, is_trimmed = trim_feed(entries)
  save_generation(entries)
  if not has_room then follow_slowest() end
  return has_room and not pending, is_trimmed
end
