-- @include write.lua
-- @include record.lua

-- A limit of 0 is a pause: every request waits.
local function never_fits(permits) return meta.limit > 0 and permits > meta.limit end

-- WAITING or DETACHED -> forgotten, because the request never fits.
-- @rare
local function dismiss(id, request)
  remove(request.state == WAITING and 'queue' or 'detached', id)
  forget({ id })
end
