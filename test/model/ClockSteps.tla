----------------------------- MODULE ClockSteps -----------------------------
(* One lock, two servers with one client each, and a Redis with a wall clock that is stepped. The clocks of the     *)
(* servers are monotonic with equal rates. A reply comes at once or is lost, so a server's estimate of Redis's clock *)
(* is exact until the step. That is the best case for the detection of a step.                                      *)
EXTENDS Integers, FiniteSets

CONSTANTS
  Servers, Newcomers,   \* all servers; the servers without a sample of Redis's clock at the start
  Horizon, Flight, Ttl, Timeout, Quarantine,
  Steps, MostSteps,     \* the possible sizes of a step; the highest number of steps
  Backward,             \* TRUE: steps go backward too
  Samples,              \* a reply's TIME counts at once ("last") | after a comparison with the clock ("compared")
  Grants,               \* report each grant ("told") | only a grant with a reply that shows no step forward ("doubted")
  Direct                \* grants to waiting clients in the replies of other commands: "none" | "told" | "doubted"

VARIABLES
  now, off, steps,      \* TIME = now + off
  lease,                \* [who, end]
  until,                \* the end of the quarantine, in TIME
  guess,                \* each server's estimate of `off`
  msgs, bel             \* commands in flight; the deadline of each client

vars == <<now, off, steps, lease, until, guess, msgs, bel>>

Unknown == 0 - 99
Nobody == 0
Time == now + off
Max(a, b) == IF a > b THEN a ELSE b
Min(a, b) == IF a < b THEN a ELSE b

Init ==
  /\ now = 0 /\ off = 0 /\ steps = 0 /\ until = 0 - Horizon
  /\ lease = [who |-> Nobody, end |-> 0]
  /\ guess = [s \in Servers |-> IF s \in Newcomers THEN Unknown ELSE 0]
  /\ msgs = {}
  /\ bel = [s \in Servers |-> 0]

\* A granting command has not_after: the TIME that its server expects, plus the command timeout.
Send ==
  /\ Cardinality(msgs) < Flight
  /\ \E s \in Servers, op \in {"acquire", "renew", "sample"} \cup (IF Direct = "none" THEN {} ELSE {"other"}) :
       /\ IF op \in {"acquire", "other"} THEN guess[s] # Unknown /\ bel[s] <= now
          ELSE IF op = "renew" THEN bel[s] > now ELSE guess[s] = Unknown
       /\ msgs' = msgs \cup {[op |-> op, s |-> s, at |-> now, expects |-> now + guess[s]]}
  /\ UNCHANGED <<now, off, steps, lease, until, guess, bel>>

\* A server handles the TIME of a reply: it compares TIME with the monotonic clock, or takes TIME as it is. After it
\* has noticed a step forward, the server starts a quarantine in Redis, and uses the new time from then on. After STALE
\* every design compares (docs/design/leases.md, rule 12).
Heard(m, isHeard, isStale) ==
  LET steppedOn == guess[m.s] # Unknown /\ off > guess[m.s] /\ (Samples = "compared" \/ isStale)
  IN IF ~isHeard THEN msgs' = msgs \ {m} /\ UNCHANGED guess
     ELSE IF steppedOn
       THEN /\ msgs' = (msgs \ {m}) \cup {[op |-> "quarantine", s |-> m.s, at |-> now, expects |-> 0]}
            /\ UNCHANGED guess
     ELSE msgs' = msgs \ {m} /\ guess' = [guess EXCEPT ![m.s] = off]

\* After a backward step no lease may end later than the longest ttl from now.
End == Min(lease.end, Time + Ttl)

\* "other": any command that makes room grants to the waiting client of its server.
Acquire(m, isHeard) ==
  LET isFree == lease.who = Nobody \/ End <= Time
      may == Time <= m.expects + Timeout /\ Time >= until
      isDoubted == (IF m.op = "other" THEN Direct ELSE Grants) = "doubted"
      isTold == isHeard /\ (isDoubted => off <= guess[m.s])
  IN /\ m.op \in {"acquire", "other"}
     /\ IF may /\ isFree
          THEN /\ lease' = [who |-> m.s, end |-> Time + Ttl]
               /\ bel' = IF isTold THEN [bel EXCEPT ![m.s] = m.at + Ttl] ELSE bel
          ELSE lease' = [lease EXCEPT !.end = End] /\ UNCHANGED bel
     /\ Heard(m, isHeard, Time > m.expects + Timeout)
     /\ UNCHANGED until

Renew(m, isHeard) ==
  /\ m.op = "renew"
  /\ LET lives == lease.who = m.s /\ End > Time
         end == Max(End, Time + Ttl)
     IN /\ lease' = IF lives THEN [lease EXCEPT !.end = end] ELSE [lease EXCEPT !.end = End]
        /\ bel' = IF ~isHeard \/ bel[m.s] <= now THEN bel
                  ELSE IF lives THEN [bel EXCEPT ![m.s] = Max(@, m.at + end - Time)]
                  ELSE [bel EXCEPT ![m.s] = 0]
  /\ Heard(m, isHeard, FALSE)
  /\ UNCHANGED until

StartQuarantine(m, isHeard) ==
  /\ m.op = "quarantine"
  /\ until' = Max(until, Time + Quarantine)
  /\ msgs' = msgs \ {m}
  /\ guess' = IF isHeard THEN [guess EXCEPT ![m.s] = off] ELSE guess
  /\ UNCHANGED <<lease, bel>>

Sample(m, isHeard) ==
  /\ m.op = "sample" /\ Heard(m, isHeard, FALSE)
  /\ UNCHANGED <<lease, until, bel>>

Run ==
  /\ \E m \in msgs, isHeard \in BOOLEAN :
       Acquire(m, isHeard) \/ Renew(m, isHeard) \/ StartQuarantine(m, isHeard) \/ Sample(m, isHeard)
  /\ UNCHANGED <<now, off, steps>>

Drop == \E m \in msgs : msgs' = msgs \ {m} /\ UNCHANGED <<now, off, steps, lease, until, guess, bel>>

Step ==
  /\ steps < MostSteps /\ steps' = steps + 1
  /\ \E d \in Steps : off' = off + d \/ (Backward /\ off' = off - d)
  /\ UNCHANGED <<now, lease, until, guess, msgs, bel>>

Tick ==
  /\ now < Horizon /\ now' = now + 1
  /\ bel' = [s \in Servers |-> IF bel[s] <= now + 1 THEN 0 ELSE bel[s]]
  /\ UNCHANGED <<off, steps, lease, until, guess, msgs>>

Next == Send \/ Run \/ Drop \/ Step \/ Tick
Spec == Init /\ [][Next]_vars

Exclusion == \A s, t \in Servers : s # t => ~(bel[s] > now /\ bel[t] > now)
=============================================================================
