-- The record of a request, packed with MessagePack. Redis stores each field under its letter.
--
-- @field s state           one of the five states below
-- @field a attach          the call that speaks for the request: "<server>.<n>", for a stream "<server>.<n>s", and for a session
--                          "<server>.<n>/<client process>/<session number>.<command id>s"
-- @field k secret          the secret of the lease
-- @field n permits         how many permits the request takes
-- @field x mode            exclusive or shared; scripts only compare the text
-- @field h holder_id       a label for people
-- @field m metadata        opaque to scripts
-- @field l ttl             length of the lease (us)
-- @field t ticket          place in the queue
-- @field f fencing_token   set by the grant or the offer; in a tombstone: set while one call may give the lease back
-- @field g granted_at      time of the grant or the offer (us)
-- @field q queued_at       time of the first acquire (us)
-- @field o answered        attach of the only call that was answered with the lease; "" after a second such call
-- @field w returnable      1 while the call in `answered` may give the lease back; only the call that got the grant may.
--                          2: as 1, and no command of this call was answered with the lease (a direct grant)
-- @field c cause           why the lease ended
-- @field v revoked         1 if an operator revoked the lease
-- @field e extended        1 after a stall gave the offer or the kept place more time
-- @field p identity        the identity that the client has proven; absent without authentication. Only a caller with this
--                          identity may renew and release the lease
-- @field u client_request_id   the request id that the client has sent; absent without an identity, because then the request is
--                          stored under this id (src/engine/leases/stored-request-id.ts)
--
-- The state determines the place of the request (layout.lua). Fencing tokens and tickets only rise.
local WAITING = 'W'
local DETACHED = 'D' -- the waiting call has ended; the place in the queue is kept
local OFFERED = 'O'  -- the permits are taken, and the server must claim them
local HELD = 'H'
local ENDED = 'E'    -- a tombstone
