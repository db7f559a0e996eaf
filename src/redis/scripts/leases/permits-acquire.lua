-- Acquires permits, or takes a place in the queue, or refuses. Repeating a request id gives the same lease or
-- the same place: it is the id of the request, the waiter and the lease.
--
-- KEYS  the resource's keys (prelude)
-- ARGV  1 server  2 request id  3 attach  4 secret for a new lease  5 permits  6 mode  7 holder_id
--       8 metadata  9 ttl (us)  10 wait: 1 queue, 0 try once  11 take over a held lease: 1 a stream, 0 not
--       12 limit if the resource is new ("": then it must exist)  13 most waiters  14 retention (ms)
-- Reply GRANTED token remaining_us ttl_us secret permits | WAITING ticket position outlook | REFUSED outlook |
--       MISMATCH field | FINISHED cause | NEVER_FITS limit | QUEUE_FULL waiters | UNKNOWN | AGAIN
-- Holds A new request is granted only if nobody waits; order: purge, known id, promote, grant or wait.
local server, id, attach, secret = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local permits, mode, holder, metadata = tonumber(ARGV[5]), ARGV[6], ARGV[7], ARGV[8]
local ttl, wait, take_over = tonumber(ARGV[9]), ARGV[10] == '1', ARGV[11] == '1'
local initial_limit, most_waiters, retention = tonumber(ARGV[12]), tonumber(ARGV[13]), tonumber(ARGV[14])

local turned = turned_back()
if turned then return turned end
begin(server, id)
purge()
-- One that does not wait is answered by what is, not by leases that are over and not yet ended.
if unsettled() or (more and not wait) then return answer(retention, 'AGAIN') end
local r = records[id]
if r and r.s == 'E' then return answer(retention, 'FINISHED', r.c) end
if not exists(initial_limit) then return answer(retention, 'UNKNOWN') end

if r and (r.n ~= permits or r.x ~= mode or r.h ~= holder) then
  local field = r.h ~= holder and 'holder_id' or r.x ~= mode and 'mode' or 'permit_count'
  return answer(retention, 'MISMATCH', field)
end

if r and r.s == 'H' then
  if r.a ~= attach then
    if take_over then
      if is_stream(r.a) and server_of(r.a) ~= server then wake(r.a, id) end
      r.a, r.o, r.w, r.l = attach, attach, 0, math.max(r.l, ttl)
      lease_until(id, math.max(end_of(id), now + ttl))
    else
      r.o = '' -- two calls have now been answered with it: neither may take it back
    end
    store(id, r)
  end
  promote()
  return granted(retention, id, r)
end

if never_fits(permits) then
  if r then dismiss(id, r) end
  promote()
  return never_fit(retention)
end

if r then
  if r.a ~= attach and server_of(r.a) ~= server then wake(r.a, id) end
  r.a, r.l, r.m = attach, ttl, metadata
  if r.s == 'O' then
    hold(id, r, attach)
  else
    if r.s == 'D' then
      redis.call('ZREM', DETACHED, id)
      put(QUEUE, r.t, id)
      r.s = 'W'
    end
    store(id, r)
    seen_alive(server)
  end
end
local nobody_waits = promote()
if r and r.s == 'O' then hold(id, r, attach) end
if r and r.s == 'H' then return granted(retention, id, r) end

if not r then
  local waiters = nobody_waits and 0 or redis.call('ZCARD', QUEUE)
  local at_once = waiters == 0 and fits(permits)
  if not at_once and not wait then return answer(retention, 'REFUSED', outlook()) end
  local places = at_once and 0 or waiters + redis.call('ZCARD', DETACHED)
  if places >= most_waiters then
    if tidy() then promote() end -- the places of servers that have gone will soon be free
    return answer(retention, 'QUEUE_FULL', places)
  end
  r = { a = attach, k = secret, n = permits, x = mode, h = holder, m = metadata, l = ttl, q = now, o = '', w = 0 }
  r.t = next_ticket()
  if at_once then
    take_permits(r)
    hold(id, r, attach)
    return granted(retention, id, r)
  end
  r.s = 'W'
  store(id, r)
  put(QUEUE, r.t, id)
  seen_alive(server)
elseif not wait then
  detach(id, r)
  promote() -- whoever waited behind it may fit now
  return answer(retention, 'REFUSED', outlook())
end
return answer(retention, 'WAITING', r.t, redis.call('ZRANK', QUEUE, id) + 1, outlook())
