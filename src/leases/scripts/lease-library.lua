#!lua name=LIBRARY
-- The operations of leases as functions of Redis, which compiles them once and not in every run. A command carries out
-- operations of one server in their order, each as the script of its file would.
--
-- KEYS   for each operation the state of its resource or its index of names, then the epochs of their buckets
-- ARGV   1 server ... 4 not_after (shared/state.lua)  5 number of operations
--        then for each operation: its name, the place of its epoch among the epochs, its arguments
-- Reply  for each operation: its reply; an error, if it has failed; or LATER: it has done nothing, because the operations
--        before it have run more than MOST_CALLS commands
-- Holds  Does nothing for no operations. A failed operation keeps no other operation from its work. What it had written
--        before stays, as after a script. The first operation is never told LATER.
--
-- @include shared/state.lua
local MOST_CALLS = 256 -- most operations run 3 to 8 commands

-- What Redis gives to a library, but only after it is loaded. Lua finds variables of the library sooner.
local function given() return redis, cmsgpack, math, string, struct, ipairs, next, tonumber end
local cmsgpack, math, string, struct, ipairs, next, tonumber
-- The operations get a `redis` that counts their commands.
local calls, call, try = 0, nil, nil
local function counted(...)
  calls = calls + 1
  return call(...)
end
local function counted_try(...)
  calls = calls + 1
  return try(...)
end
local redis = { register_function = redis.register_function }

-- @operations
local function run(keys, args, operations)
  local api
  api, cmsgpack, math, string, struct, ipairs, next, tonumber = given()
  local count = tonumber(args[5])
  call, try, redis.error_reply = api.call, api.pcall, api.error_reply
  redis.call, redis.pcall = count > 1 and counted or call, count > 1 and counted_try or try
  calling_server, retention_ms, expected, not_after = args[1], tonumber(args[2]), args[3], tonumber(args[4])
  local clock = redis.call('TIME')
  now = clock[1] * 1000000 + clock[2]
  now_text = int(now)
  if now > NEVER then return redis.error_reply('HOLDFAST clock is past 2^53 us') end
  local epochs, replies, at = {}, {}, 6
  calls = 0
  for i = 1, count do
    local operation = operations[args[at]]
    local last = at + 1 + operation.argument_count
    if calls > MOST_CALLS and i > 1 then
      replies[i] = 'LATER'
    else
      reset()
      local place = tonumber(args[at + 1])
      if epochs[place] == nil then epochs[place] = redis.call('GET', keys[count + place]) end
      STATE_KEY, epoch = keys[i], epochs[place]
      local is_done, answered = pcall(operation.run, unpack(args, at + 2, last))
      if not is_done then
        -- The error of a command begins with its code, and an error of Lua with its place.
        local text = type(answered) == 'table' and answered.err or answered
        answered = { err = string.find(text, '^%u+ ') and text or 'ERR ' .. text }
      end
      replies[i] = answered
    end
    at = last + 1
  end
  return replies
end

-- The entries have the flags of the operations' scripts. No flag: Redis refuses the command when its memory is full.
redis.register_function({
  function_name = 'LIBRARY_keep', flags = { 'allow-oom' }, callback = function(keys, args) return run(keys, args, keep) end,
})
redis.register_function({
  function_name = 'LIBRARY_grow', callback = function(keys, args) return run(keys, args, grow) end,
})
redis.register_function({
  function_name = 'LIBRARY_read', flags = { 'no-writes' }, callback = function(keys, args) return run(keys, args, read) end,
})
