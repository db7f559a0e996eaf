----------------------------- MODULE ClockRates -----------------------------
(* One lock, two clients with one stream each, and clocks of different rates: Redis's clock, the servers' clock and  *)
(* the clients' clock. `now` is real time, and a clock of rate r shows r * now. Any two rates differ by at most Rho: *)
(* each rate is 2 or 3, and Rho = 1/3.                                                                              *)
EXTENDS Integers, FiniteSets, TLC

CONSTANTS
  Clients,
  Rates,                \* the possible rates of each clock
  Horizon, Flight,      \* the last tick; the highest number of commands in flight
  Timeout,              \* a command runs at most this many ticks after its send
  Ttl, Quarantine,      \* in units of Redis's clock
  Faults,               \* "flush" or nothing
  Waits,                \* the time before a grant counts as "shrunk" by Rho in the offset | "whole"
  Direct,               \* TRUE: other commands of the server grant to waiting clients too
  Heartbeats,           \* an offset counts from the call ("none") | is made when the answer is sent, and counts from a
                        \* heartbeat. The time from the send of the command to the heartbeat counts "grown" by Rho
                        \* | "shrunk" by Rho | not at all ("passed-over")
  LateRelease           \* a lost lease is released "early": at the last confirmed end on the server's clock,
                        \* m + remaining * (1 - Rho) | "late": the arrival of the confirmed reply + remaining * (1 + Rho)

VARIABLES
  now, rate,            \* real time; the rate of each clock
  lease,                \* in Redis: [who, end (Redis's clock)]
  queue,                \* in Redis: the clients that wait (only with direct grants)
  until,                \* the end of the quarantine, on Redis's clock
  left,                 \* faults that may still happen
  msgs,                 \* commands in flight: [op, c (the client, or Nobody), m (real time of the send)]
  stream,               \* of each client: [st, r (real time of the call), lost, free (server's clock): the last
                        \* confirmed end, and the earliest late release; m, rest: the unsent answer of a session]
  deadline              \* of each client, on the client's clock; 0: no belief

vars == <<now, rate, lease, queue, until, left, msgs, stream, deadline>>

Max(a, b) == IF a > b THEN a ELSE b
Less(time) == (time * 2) \div 3    \* time * (1 - Rho), rounded down
More(time) == (time * 4 + 2) \div 3  \* time * (1 + Rho), rounded up
Nobody == 0
Free == [who |-> Nobody, end |-> 0]
Unused == [st |-> "unused", r |-> 0, lost |-> 0, free |-> 0, m |-> 0, rest |-> 0]
Over == [Unused EXCEPT !.st = "over"]

Redis == now * rate.redis
Server(time) == time * rate.server
Believes(c) == now * rate.client < deadline[c]

Init ==
  /\ now = 0 /\ lease = Free /\ queue = {} /\ until = 0 /\ left = Faults /\ msgs = {}
  /\ rate \in [redis : Rates, server : Rates, client : Rates]
  /\ stream = [c \in Clients |-> Unused]
  /\ deadline = [c \in Clients |-> 0]

Current == IF lease.end <= Redis THEN Free ELSE lease

Open ==
  \E c \in Clients :
    /\ stream[c].st = "unused"
    /\ stream' = [stream EXCEPT ![c].st = "asking", ![c].r = now]
    /\ UNCHANGED <<now, rate, lease, queue, until, left, msgs, deadline>>

\* A stream that waits sends its acquire again: a wait is a time without a grant.
Send ==
  \E c \in Clients :
    /\ Cardinality(msgs) < Flight
    /\ stream[c].st = "asking" \/ (stream[c].st = "held" /\ Server(now) < stream[c].lost)
    /\ msgs' = msgs \cup {[op |-> IF stream[c].st = "held" THEN "renew" ELSE "acquire", c |-> c, m |-> now]}
    /\ UNCHANGED <<now, rate, lease, queue, until, left, stream, deadline>>

\* Any other command of the server: a touch, or a command of another call.
SendOther ==
  /\ Direct /\ Cardinality(msgs) < Flight
  /\ msgs' = msgs \cup {[op |-> "other", c |-> Nobody, m |-> now]}
  /\ UNCHANGED <<now, rate, lease, queue, until, left, stream, deadline>>

\* docs/design/leases.md, rule 1: the server's clock measures the time between `r` and the send of the command.
Offset(r, m, rest) ==
  LET wait == (m - r) * rate.server
  IN Less(rest) + IF wait >= 0 THEN IF Waits = "shrunk" THEN Less(wait) ELSE wait
                  ELSE IF Heartbeats = "grown" THEN -More(-wait)
                  ELSE IF Heartbeats = "shrunk" THEN -Less(-wait)
                  ELSE 0

\* The reply confirms the lease. The client hears of the lease unless the offset has passed on the server's clock.
Confirm(c, m, rest) ==
  LET offset == Offset(stream[c].r, m, rest)
      free == IF LateRelease = "early" THEN Server(m) + Less(rest) ELSE Server(now) + More(rest)
      held == [stream EXCEPT ![c].st = "held", ![c].lost = Max(@, Server(m) + Less(rest)), ![c].free = Max(@, free)]
  IN IF Server(stream[c].r) + offset <= Server(now)
       THEN UNCHANGED <<stream, deadline>>
     ELSE IF Heartbeats = "none"
       THEN /\ stream' = held
            /\ deadline' = [deadline EXCEPT ![c] = Max(@, stream[c].r * rate.client + offset)]
     ELSE stream' = [held EXCEPT ![c].m = m, ![c].rest = rest] /\ UNCHANGED deadline

\* A session sends the answer at any time, and names any heartbeat, which arrived at once: the longest deadline.
Answer ==
  \E c \in Clients, r \in 0..now :
    /\ stream[c].rest # 0 /\ r >= stream[c].r
    /\ stream' = [stream EXCEPT ![c].m = 0, ![c].rest = 0]
    /\ deadline' = [deadline EXCEPT ![c] = Max(@, r * rate.client + Offset(r, stream[c].m, stream[c].rest))]
    /\ UNCHANGED <<now, rate, lease, queue, until, left, msgs>>

\* A server no longer handles replies after the last confirmed end.
Hears(c) == stream[c].st = "asking" \/ (stream[c].st = "held" /\ Server(now) < stream[c].lost)

Granted(c, m, end, isHeard) ==
  /\ lease' = [who |-> c, end |-> end] /\ queue' = queue \ {c}
  /\ IF isHeard /\ Hears(c) THEN Confirm(c, m, end - Redis) ELSE UNCHANGED <<stream, deadline>>

\* The stream waits on, or ends: its lease is gone.
Refused(m, isHeard) ==
  /\ lease' = Current /\ UNCHANGED deadline
  /\ queue' = IF Direct /\ m.op = "acquire" THEN queue \cup {m.c} ELSE queue
  /\ IF isHeard /\ m.op = "renew" /\ Hears(m.c) THEN stream' = [stream EXCEPT ![m.c] = Over] ELSE UNCHANGED stream

\* The reply of a command that may have been sent before the waiting call was received. The script ran after the acquire
\* of the call, so the lease began after the receipt of the call too: the later of both times counts.
GrantedDirectly(m, isHeard) ==
  IF Current.who = Nobody /\ Redis >= until /\ queue # {}
    THEN \E c \in queue : Granted(c, Max(m.m, stream[c].r), Redis + Ttl, isHeard)
    ELSE lease' = Current /\ UNCHANGED <<queue, stream, deadline>>

\* A reply comes at once or is lost.
Run ==
  \E m \in msgs, isHeard \in BOOLEAN :
    /\ msgs' = msgs \ {m}
    /\ IF m.op = "other" THEN GrantedDirectly(m, isHeard)
       ELSE IF Current.who = m.c THEN Granted(m.c, m.m, IF m.op = "renew" THEN Redis + Ttl ELSE lease.end, isHeard)
       ELSE IF m.op = "acquire" /\ Current.who = Nobody /\ Redis >= until THEN Granted(m.c, m.m, Redis + Ttl, isHeard)
       ELSE Refused(m, isHeard)
    /\ UNCHANGED <<now, rate, until, left>>

\* The last confirmed end has come. LOST may not reach the client.
Lose ==
  \E c \in Clients, isHeard \in BOOLEAN :
    /\ stream[c].st = "held" /\ Server(now) >= stream[c].lost
    /\ stream' = [stream EXCEPT ![c].st = "lost", ![c].m = 0, ![c].rest = 0]
    /\ deadline' = IF isHeard THEN [deadline EXCEPT ![c] = 0] ELSE deadline
    /\ UNCHANGED <<now, rate, lease, queue, until, left, msgs>>

\* A renewal without a reply may have prolonged the lost lease.
ReleaseLate ==
  \E c \in Clients :
    /\ stream[c].st = "lost" /\ Server(now) >= stream[c].free
    /\ lease' = IF lease.who = c THEN Free ELSE lease
    /\ stream' = [stream EXCEPT ![c] = Over]
    /\ UNCHANGED <<now, rate, queue, until, left, msgs, deadline>>

Flush ==
  /\ "flush" \in left /\ left' = left \ {"flush"}
  /\ lease' = Free /\ queue' = {} /\ until' = Redis + Quarantine
  /\ UNCHANGED <<now, rate, msgs, stream, deadline>>

Tick ==
  /\ now < Horizon /\ now' = now + 1
  /\ msgs' = {m \in msgs : now < m.m + Timeout}
  /\ UNCHANGED <<rate, lease, queue, until, left, stream, deadline>>

Next == Open \/ Send \/ SendOther \/ Run \/ Answer \/ Lose \/ ReleaseLate \/ Flush \/ Tick
Spec == Init /\ [][Next]_vars

Exclusion == \A c, e \in Clients : c # e => ~(Believes(c) /\ Believes(e))
Symmetry == Permutations(Clients)
=============================================================================
