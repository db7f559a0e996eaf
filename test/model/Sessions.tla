------------------------------ MODULE Sessions ------------------------------
(* One lock, one client with successive sessions, each on its own server, and a rival that takes the lock as soon as *)
(* the lease has ended: heartbeats, offsets, silence, re-attach, repeated releases. README.md lists what is not      *)
(* modelled. Each rule that a simpler design lacks is a constant here.                                               *)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS
  Sessions, Messages,   \* the number of sessions; the number of client messages of a session, each with a heartbeat
  Horizon, Flight,      \* the last tick; the highest number of commands in flight to the store
  Ttl, Timeout, Silence,  \* a command runs at most Timeout after its send; no renewals after Silence without a heartbeat
  Base,                 \* an offset counts from the heartbeat "named" by its message | the "latest" that the client has sent
                        \* | the latest received when the answer was "queued", and the message names a later one
  Renews,               \* a server renews while it hears "heartbeats" | "always"
  Compare,              \* attach and acquire take over from an older "command" (session number, then command id)
                        \* | from an older or the same "session" | from "any"
  OldEnds,              \* an end told under an older number is "ignored" | "believed"
  AfterRelease,         \* a lease with an unanswered release is "released" again in the next session | "attached"
  Skips,                \* a client skips renewals of a "lease" that is over | of a "number" that is over in this session
                        \* | "none"
  Drops,                \* TRUE: an end drops the unsent renewals
  Owes                  \* a lease that is over for the client is released until the "answer" | until the "deadline"
                        \* | until the answer, but not a "lost" lease

VARIABLES
  now,      \* every monotonic clock, and TIME
  lease,    \* in the store: [who, end, at (the attach value <<session, command>>)]
  msgs,     \* commands in flight: [op, s, n, m (time of the send), heard (the server waits for the reply)]
  up, down, \* of each session: the messages in flight to the server, and to the client, in order
  srv,      \* of each session its server: [hb, r (latest heartbeat, and its receipt), sign (latest heartbeat or grant),
            \* num (the lease's number), end (the last confirmed end), evs, ren (unsent events, unsent renewal)]
  cl,       \* the client: [cur (its last session), st, n (its last acquire or attach), again (to be repeated), knows (the
            \* lease_id), owe (a release), rel (a release is unanswered), until (the release is repeated), dl (the
            \* deadline), why ("superseded" or "released", if the client was told so)]
  t0,       \* of each session: the send times of the heartbeats; 0: forgotten
  gone      \* the numbers that are over for the client, by session (only for Skips = "number")

vars == <<now, lease, msgs, up, down, srv, cl, t0, gone>>

Max(a, b) == IF a > b THEN a ELSE b
Name(i) == <<"s1", "s2", "s3">>[i]
Number(s) == CHOOSE i \in 1..3 : Name(i) = s
All == {Name(i) : i \in 1..Sessions}
None == [n |-> 0, end |-> 0]
Init ==
  /\ now = 1 /\ msgs = {} /\ gone = {}
  /\ lease = [who |-> "nobody", end |-> 0, at |-> <<>>]
  /\ up = [s \in All |-> <<>>] /\ down = [s \in All |-> <<>>] /\ t0 = [s \in All |-> <<>>]
  /\ srv = [s \in All |-> [hb |-> 0, r |-> 0, sign |-> 0, num |-> 0, end |-> 0, evs |-> <<>>, ren |-> None]]
  /\ cl = [cur |-> "none", st |-> "asked", n |-> <<>>, again |-> FALSE, knows |-> FALSE, owe |-> FALSE, rel |-> FALSE,
           until |-> 0, dl |-> 0, why |-> "none"]

Believes == cl.dl > now
IsLive == lease.who = "client" /\ lease.end > now
\* With these rules a lease that is over for the client is over for ever.
IsOver == Skips = "lease" /\ AfterRelease = "released" /\ cl.st = "over"
\* The lease is over in the store and for the client, so nothing happens any more. This saves states.
IsSettled == IsOver /\ ~IsLive /\ lease.who # "nobody"
Calm == ~IsSettled

-----------------------------------------------------------------------------
(* The client.                                                                                                      *)

\* Each message has a heartbeat, and t0 is its send. The number of a message is its heartbeat_id and its command_id.
Put(s, op) ==
  /\ up' = [up EXCEPT ![s] = Append(@, [n |-> Len(t0[s]) + 1, op |-> op])]
  /\ t0' = [t0 EXCEPT ![s] = Append(@, now)]
MayPut(s) == s \in All /\ Len(t0[s]) < Messages
Asked(c, s) == [c EXCEPT !.n = <<s, Len(t0[s]) + 1>>, !.again = FALSE]

\* The next session, at any time: after silence, after a break, or for a drain. The older sessions stay readable.
Open ==
  LET i == IF cl.cur = "none" THEN 1 ELSE Number(cl.cur) + 1
      s == Name(i)
      c == [cl EXCEPT !.cur = s]
  IN /\ Calm /\ i <= Sessions
     /\ IF cl.owe /\ AfterRelease = "attached"
          THEN Put(s, "attach") /\ cl' = [Asked(c, s) EXCEPT !.st = "asked", !.owe = FALSE, !.rel = FALSE]
        ELSE IF cl.owe THEN Put(s, "release") /\ cl' = [c EXCEPT !.rel = TRUE]
        ELSE IF cl.st = "over" THEN Put(s, "none") /\ cl' = c
        ELSE Put(s, IF cl.knows THEN "attach" ELSE "acquire") /\ cl' = Asked(c, s)
     /\ UNCHANGED <<now, lease, msgs, down, srv, gone>>

\* A client that leaves for a drain sends heartbeats in its older session too.
Beat ==
  \E s \in All :
    /\ Calm /\ MayPut(s) /\ t0[s] # <<>> /\ Put(s, "none")
    /\ UNCHANGED <<now, lease, msgs, down, srv, cl, gone>>

Repeat ==
  /\ Calm /\ cl.again /\ MayPut(cl.cur)
  /\ Put(cl.cur, IF cl.knows THEN "attach" ELSE "acquire")
  /\ cl' = Asked(cl, cl.cur)
  /\ UNCHANGED <<now, lease, msgs, down, srv, gone>>

\* A client stops to believe before it sends a release.
Over(c) == [c EXCEPT !.st = "over", !.again = FALSE, !.dl = 0]
Release ==
  /\ Calm /\ MayPut(cl.cur)
  /\ (cl.st = "held" /\ Believes) \/ (cl.owe /\ ~cl.rel)
  /\ Put(cl.cur, "release")
  /\ cl' = [Over(cl) EXCEPT !.owe = TRUE, !.rel = TRUE, !.until = IF Owes = "deadline" THEN Max(@, cl.dl) ELSE 0]
  /\ UNCHANGED <<now, lease, msgs, down, srv, gone>>

\* The deadline has passed.
Lost(c) == [Over(c) EXCEPT !.owe = Owes # "lost"]

\* One event or renewal of a message of session s. Its offset counts from `base`. The answer to the last acquire or
\* attach decides. A lease that is over for the client is released if it turns out to be held.
Heard(c, e, s, base) ==
  LET d == base + e.off
      decides == c.n = <<s, e.n>>
      ends == c.st # "over" /\ (decides \/ OldEnds = "believed")
  IN CASE e.kind = "granted" ->
            IF c.st = "over" THEN [c EXCEPT !.owe = @ \/ (Owes # "lost" /\ c.why # "released" /\ c.until = 0)]
            ELSE [c EXCEPT !.st = "held", !.knows = TRUE, !.dl = Max(@, d), !.again = IF decides THEN FALSE ELSE @]
       [] e.kind = "renewed" ->
            IF c.st = "held" \/ Skips = "none" \/ (Skips = "number" /\ <<s, e.n>> \notin gone)
              THEN [c EXCEPT !.dl = Max(@, d)] ELSE c
       [] e.kind = "superseded" -> IF ends THEN [Over(c) EXCEPT !.why = "superseded"] ELSE c
       [] e.kind \in {"expired", "notheld"} -> IF ends THEN Over(c) ELSE c
       [] e.kind = "released" -> [Over(c) EXCEPT !.owe = FALSE, !.rel = FALSE, !.why = "released"]
       [] e.kind = "unreleased" -> IF s = c.cur THEN [c EXCEPT !.rel = FALSE] ELSE c
       [] e.kind = "unknown" -> IF decides /\ c.st # "over" THEN [c EXCEPT !.again = TRUE] ELSE c

RECURSIVE HeardAll(_, _, _, _)
HeardAll(c, es, s, base) == IF es = <<>> THEN c ELSE HeardAll(Heard(c, Head(es), s, base), Tail(es), s, base)

Ends(es) == {es[i].n : i \in {i \in 1..Len(es) : es[i].kind \in {"expired", "superseded", "notheld", "released"}}}

Read ==
  \E s \in All :
    /\ Calm /\ down[s] # <<>>
    /\ LET w == Head(down[s])
           base == IF Base = "latest" THEN t0[s][Len(t0[s])] ELSE t0[s][w.hb]
           c == HeardAll(cl, w.es, s, base)
       IN /\ cl' = IF c.st = "held" /\ c.dl <= now THEN Lost(c) ELSE c
          /\ t0' = [t0 EXCEPT ![s] = [i \in 1..Len(@) |-> IF i < w.hb THEN 0 ELSE @[i]]]
          /\ gone' = IF Skips = "number" THEN gone \cup {<<s, n>> : n \in Ends(w.es)} ELSE gone
    /\ down' = [down EXCEPT ![s] = Tail(@)]
    /\ UNCHANGED <<now, lease, msgs, up, srv>>

-----------------------------------------------------------------------------
(* The servers.                                                                                                     *)

\* Unsent answers hold ends. With Base = "queued" they hold offsets.
Event(v, kind, n, end) ==
  [kind |-> kind, n |-> n, off |-> IF Base = "queued" /\ end # 0 THEN end - v.r ELSE end]
Tell(v, kind, n, end) == [v EXCEPT !.evs = Append(@, Event(v, kind, n, end))]
Ended(v, kind) ==
  IF v.num = 0 THEN v
  ELSE [Tell(v, kind, v.num, 0) EXCEPT !.num = 0, !.end = 0, !.ren = IF Drops THEN None ELSE @]
Unanswered(v, w) == Tell(v, IF w.op = "release" THEN "unreleased" ELSE "unknown", w.n, 0)

\* A command that the server has given up may still run, until Timeout. To save states, the server gives up at once.
Call(op, s, n, isHeard) ==
  /\ Cardinality(msgs) < Flight
  /\ msgs' = msgs \cup {[op |-> op, s |-> s, n |-> n, m |-> now, heard |-> isHeard]}

ReadUp ==
  \E s \in All, isHeard \in BOOLEAN :
    /\ Calm /\ up[s] # <<>>
    /\ LET w == Head(up[s])
           v == [srv[s] EXCEPT !.hb = w.n, !.r = now, !.sign = now]
       IN IF w.op = "none" THEN isHeard /\ srv' = [srv EXCEPT ![s] = v] /\ UNCHANGED msgs
          ELSE Call(w.op, s, w.n, isHeard) /\ srv' = [srv EXCEPT ![s] = IF isHeard THEN v ELSE Unanswered(v, w)]
    /\ up' = [up EXCEPT ![s] = Tail(@)]
    /\ UNCHANGED <<now, lease, down, cl, t0, gone>>

Renew ==
  \E s \in All, isHeard \in BOOLEAN :
    /\ Calm /\ srv[s].num # 0
    /\ Renews = "always" \/ now < srv[s].sign + Silence
    /\ ~\E m \in msgs : m.op = "renew" /\ m.s = s /\ m.heard
    /\ lease.end < now + Ttl \/ lease.at # <<s, srv[s].num>>   \* a renewal that changes nothing is left out
    /\ Call("renew", s, srv[s].num, isHeard)
    /\ UNCHANGED <<now, lease, up, down, srv, cl, t0, gone>>

\* The reply to m confirms `end`, which counts from the send of m.
Granted(v, m, end) ==
  IF m.op = "renew" THEN [v EXCEPT !.end = Max(@, end), !.ren = [n |-> m.n, end |-> Event(v, "renewed", m.n, end).off]]
  ELSE IF v.num > m.n THEN Tell(v, "superseded", m.n, 0)
  ELSE [Tell(Ended(v, "superseded"), "granted", m.n, end) EXCEPT !.num = m.n, !.end = end, !.sign = now]
Refused(v, m, kind) == IF m.op = "renew" THEN Ended(v, kind) ELSE Tell(v, kind, m.n, 0)
IsAwaited(m) == m.heard /\ (m.op = "renew" => srv[m.s].num = m.n)

MayTakeOver(a, b) ==
  CASE Compare = "any" -> TRUE
    [] Compare = "session" -> Number(a[1]) >= Number(b[1])
    [] Compare = "command" -> Number(a[1]) > Number(b[1]) \/ (a[1] = b[1] /\ a[2] >= b[2])

\* The results of a script: [lease, kind].
Script(m) ==
  LET a == <<m.s, m.n>>
      over == [lease EXCEPT !.who = IF @ = "client" THEN "ended" ELSE @]
      held == [who |-> "client", end |-> Max(lease.end, now + Ttl), at |-> a]
  IN CASE m.op = "acquire" /\ lease.who = "nobody" -> [l |-> held, kind |-> "granted"]
       [] m.op = "release" -> [l |-> over, kind |-> "released"]
       [] ~IsLive -> [l |-> over, kind |-> "notheld"]
       [] m.op = "renew" -> IF lease.at = a THEN [l |-> held, kind |-> "granted"] ELSE [l |-> lease, kind |-> "superseded"]
       [] OTHER -> IF MayTakeOver(a, lease.at) THEN [l |-> held, kind |-> "granted"]
                   ELSE [l |-> lease, kind |-> "superseded"]

\* The reply comes at once.
Run ==
  \E m \in msgs :
    LET x == Script(m)
        v == srv[m.s]
    IN /\ Calm
       /\ msgs' = msgs \ {m}
       /\ lease' = x.l
       /\ srv' = [srv EXCEPT ![m.s] =
            IF ~IsAwaited(m) THEN v
            ELSE IF x.kind = "granted" THEN Granted(v, m, m.m + (x.l.end - now))
            ELSE IF x.kind = "released" THEN Tell(Ended(v, "expired"), "released", m.n, 0)
            ELSE Refused(v, m, x.kind)]
       /\ UNCHANGED <<now, up, down, cl, t0, gone>>

\* One message: the events in order, then the renewal. Offsets and the named heartbeat are made together.
Send ==
  \E s \in All :
    LET v == srv[s]
        all == v.evs \o IF v.ren.n = 0 THEN <<>> ELSE <<[kind |-> "renewed", n |-> v.ren.n, off |-> v.ren.end]>>
        from(e) == IF e.off = 0 \/ Base = "queued" THEN e ELSE [e EXCEPT !.off = @ - v.r]
    IN /\ Calm /\ all # <<>> /\ down[s] = <<>>
       /\ down' = [down EXCEPT ![s] = <<[hb |-> v.hb, es |-> [i \in 1..Len(all) |-> from(all[i])]]>>]
       /\ srv' = [srv EXCEPT ![s].evs = <<>>, ![s].ren = None]
       /\ UNCHANGED <<now, lease, msgs, up, cl, t0, gone>>

-----------------------------------------------------------------------------
\* Only a rival beside a belief matters.
Rival ==
  /\ Believes
  /\ lease.who = "ended" \/ (lease.who = "client" /\ lease.end <= now)
  /\ lease' = [who |-> "rival", end |-> 0, at |-> <<>>]
  /\ UNCHANGED <<now, msgs, up, down, srv, cl, t0, gone>>

Tick ==
  /\ Calm /\ now < Horizon /\ now' = now + 1
  /\ \A m \in msgs : m.heard => now < m.m + Timeout
  /\ msgs' = {m \in msgs : now < m.m + Timeout}
  /\ LET c == IF cl.st = "held" /\ cl.dl <= now + 1 THEN Lost(cl) ELSE cl
     IN cl' = [c EXCEPT !.dl = IF @ <= now + 1 THEN 0 ELSE @,
                        !.owe = IF c.until \in 1..(now + 1) THEN FALSE ELSE @]
  /\ srv' = [s \in All |-> IF srv[s].end <= now + 1 THEN Ended(srv[s], "expired") ELSE srv[s]]  \* the last confirmed end
  /\ UNCHANGED <<lease, up, down, t0, gone>>

Next == Open \/ Beat \/ Repeat \/ Release \/ Read \/ ReadUp \/ Renew \/ Run \/ Send \/ Rival \/ Tick
Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* The view merges states that differ only in what no later step or invariant reads. This saves states.              *)

Matters(e, s) ==
  IF e.kind \in {"granted", "released", "unreleased"} THEN TRUE
  ELSE ~IsOver /\ (e.kind = "renewed" \/ OldEnds = "believed" \/ Skips = "number" \/ cl.n = <<s, e.n>>)
Kept(es, s) ==
  LET kept == SelectSeq(es, LAMBDA e : Matters(e, s))
  IN IF IsOver THEN [i \in 1..Len(kept) |-> [kept[i] EXCEPT !.off = 0]] ELSE kept
ViewOf(s) ==
  LET v == srv[s]
      first == IF down[s] = <<>> THEN v.hb ELSE Head(down[s]).hb
  IN <<up[s],
       IF down[s] = <<>> THEN down[s] ELSE <<IF IsOver THEN 0 ELSE first, Kept(Head(down[s]).es, s)>>,
       [i \in 1..Len(t0[s]) |-> IF IsOver \/ i < first THEN 0 ELSE t0[s][i]],
       IF IsOver THEN 0 ELSE v.r,
       IF v.num = 0 THEN 0 ELSE v.sign,
       v.num, v.end, Kept(v.evs, s), IF IsOver THEN None ELSE v.ren>>
View ==
  IF Base # "named" THEN vars
  ELSE <<now, lease, msgs, cl, gone, {srv[s].sign : s \in {s \in All : \A o \in All : srv[o].sign <= srv[s].sign}},
         [s \in All |-> ViewOf(s)]>>

-----------------------------------------------------------------------------
Exclusion == ~(Believes /\ lease.who = "rival")
\* docs/design/invariants.md, 10: no lease in the store ends before the belief in it.
TruthfulOffset == Believes => lease.who = "client" /\ cl.dl <= lease.end
\* A client that is silent loses its leases in bounded time.
SilenceEnds ==
  lease.who = "client" => \E s \in All : lease.end <= srv[s].sign + Silence + Timeout + Ttl
\* No session of the client takes the lease from a later one, or from itself.
NoFalseLoss == cl.why # "superseded"
\* No server renews for ever a lease that is over for the client: the client has heard everything and sends no release.
NoOrphan ==
  ~\E s \in All :
       /\ s = cl.cur /\ IsLive /\ cl.st = "over" /\ ~cl.owe
       /\ srv[s].num # 0 /\ lease.at = <<s, srv[s].num>>
       /\ up[s] = <<>> /\ Kept(srv[s].evs, s) = <<>> /\ \A i \in 1..Len(down[s]) : Kept(down[s][i].es, s) = <<>>
       /\ \A m \in msgs : m.op # "release"
=============================================================================
