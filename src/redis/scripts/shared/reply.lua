-- Makes a reply with the header of every guarded script and of permits-inspect. src/redis/connection/guarded-reply.ts
-- reads the header.
--
-- word       the outcome, or the reason why the script did nothing
-- follow_up  0 none, 1 a touch must follow, 2 the server must check the epoch
-- ids        requests that the calling server must recheck
-- time       Redis's time (us)
-- pause      how long grants still pause (us)
-- ...        the values of the word
local function reply(word, follow_up, ids, time, pause, ...) return { word, follow_up, ids, time, pause, ... } end
