#!lua flags=allow-oom
-- Renews leases of one bucket for the streams and sessions of one server. The script does not change a lease that needs
-- more than a new end. The server then renews this lease alone, with lease-renew.lua.
--
-- KEYS   1 the state of the first lease's resource  2 the epoch of the bucket  3 ... the states of the other resources
-- Args   for each lease: request id, secret, attach, identity ("": none)
-- Reply  RENEWED, then for each lease: remaining_us ttl_us. 0 0: this lease was not changed
-- Holds  All leases are renewed at one reading of the clock, each as by lease-renew.lua. But the script renews nothing
--        while grants pause, ends no other lease, and grants nothing.
--
-- @include shared/answers.lua
-- @include shared/epoch-check.lua
-- @include shared/leases.lua
-- @include shared/purge.lua
-- @include shared/state.lua
local refusal = epoch_check()
if refusal then return refusal end
local values = {}
for i = 0, #ARGV / 4 - 2 do
  local id, secret, attach, identity = unpack(ARGV, 4 * i + 5, 4 * i + 8)
  if i > 0 then next_resource(KEYS[i + 2]) end
  begin(id)
  local request = records[id]
  local remaining, ttl = 0, 0
  if is_holder(request, secret, identity) and request.state == HELD and request.attach == attach and not request.revoked
    and (stored_end(id) or 0) > now and is_quiet() then
    set_end(id, now + request.ttl) -- no lease lasts longer than its ttl from now (leases.lua)
    local renewed = answer_granted(id, request)
    remaining, ttl = renewed[4], renewed[5]
  end
  values[2 * i + 1], values[2 * i + 2] = remaining, ttl
end
return reply('RENEWED', 0, news, now_text, 0, unpack(values))
