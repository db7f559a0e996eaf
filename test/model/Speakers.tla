------------------------------ MODULE Speakers ------------------------------
(* One lease, several calls of its request on one server, and a call on another server. The server handles replies   *)
(* in any order. Which of its calls holds the lease, and is renewed? README.md lists what is not modelled.           *)
EXTENDS Integers

CONSTANTS
  Calls,      \* the number of calls on the server
  Decides,    \* of two calls on the server, the one holds the lease that the store has "confirmed" by a later command
              \* | whose reply is handled "last" | with the greater "number"
  Compares    \* TRUE: the calls are commands of successive sessions of one client. The store refuses to take the lease
              \* over from a later one. FALSE: they are streams.

VARIABLES
  speaker,    \* in the store: the call that speaks for the lease; Nobody; There, the call on the other server
  commands,   \* commands in flight: [op, c, at (the step of the send)]
  replies,    \* replies that the server has not handled: [op, c, at, kind]
  step,       \* the last step of the server (wait-queue.ts)
  known,      \* the call that holds the lease on the server; Nobody
  since,      \* the step at which the known call began to hold
  st,         \* of each call: "new", "asked", "held", "superseded" (its client was told), "failed" (OUTCOME_UNKNOWN)
  taken       \* whether the other server has taken the lease over

vars == <<speaker, commands, replies, step, known, since, st, taken>>
All == 1..Calls
Nobody == 0
There == -1

Init ==
  /\ speaker = Nobody /\ known = Nobody /\ step = 0 /\ since = 0 /\ taken = FALSE
  /\ commands = {} /\ replies = {} /\ st = [c \in All |-> "new"]

\* An acquire or an attach. Both take the lease over.
Ask(c) ==
  /\ st[c] = "new" /\ st' = [st EXCEPT ![c] = "asked"]
  /\ step' = step + 1 /\ commands' = commands \union {[op |-> "attach", c |-> c, at |-> step + 1]}
  /\ UNCHANGED <<speaker, replies, known, since, taken>>

Renew ==
  /\ known # Nobody /\ commands' = commands \union {[op |-> "renew", c |-> known, at |-> 0]}
  /\ UNCHANGED <<speaker, replies, step, known, since, st, taken>>

TakeElsewhere ==
  /\ ~taken /\ speaker # Nobody /\ taken' = TRUE /\ speaker' = There
  /\ UNCHANGED <<commands, replies, step, known, since, st>>

\* A command without a reply. Only a renewal is repeated.
Lost(m) == st' = [st EXCEPT ![m.c] = IF m.op = "renew" THEN @ ELSE "failed"]

Run(m) ==
  LET refused == Compares /\ speaker \in All /\ speaker > m.c
      after == IF m.op = "attach" /\ ~refused THEN m.c ELSE speaker
      kind == IF after = m.c THEN "speaks" ELSE "superseded"
  IN /\ commands' = commands \ {m} /\ speaker' = after
     /\ \/ replies' = replies \union {[op |-> m.op, c |-> m.c, at |-> m.at, kind |-> kind]} /\ UNCHANGED st
        \/ Lost(m) /\ UNCHANGED replies
     /\ UNCHANGED <<step, known, since, taken>>

Drop(m) ==
  /\ commands' = commands \ {m} /\ Lost(m)
  /\ UNCHANGED <<speaker, replies, step, known, since, taken>>

Hold(r) ==
  /\ st' = [c \in All |-> IF c = r.c THEN "held" ELSE IF c = known THEN "superseded" ELSE st[c]]
  /\ known' = r.c /\ step' = step + 1 /\ since' = step + 1
  /\ UNCHANGED commands

Check(r) ==
  /\ step' = step + 1 /\ commands' = commands \union {[op |-> "check", c |-> r.c, at |-> step + 1]}
  /\ UNCHANGED <<known, since, st>>

End(c) ==
  /\ st' = [st EXCEPT ![c] = IF @ \in {"asked", "held"} THEN "superseded" ELSE @]
  /\ known' = IF known = c THEN Nobody ELSE known
  /\ UNCHANGED <<commands, step, since>>

IsLater(r) ==
  \/ known = Nobody \/ Decides = "last"
  \/ Decides = "confirmed" /\ r.at > since
  \/ Decides = "number" /\ r.c > known

Handle(r) ==
  /\ replies' = replies \ {r}
  /\ IF r.kind = "superseded" THEN End(r.c)
     ELSE IF r.op = "renew" \/ st[r.c] # "asked" THEN UNCHANGED <<commands, step, known, since, st>>
     ELSE IF IsLater(r) THEN Hold(r)
     ELSE IF Decides = "confirmed" THEN Check(r)
     ELSE End(r.c)
  /\ UNCHANGED <<speaker, taken>>

Next ==
  \/ \E c \in All : Ask(c)
  \/ Renew \/ TakeElsewhere
  \/ \E m \in commands : Run(m) \/ Drop(m)
  \/ \E r \in replies : Handle(r)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
\* No call is told that another call speaks while it speaks itself. So no lease has an open stream and no renewals.
NoFalseEnd == \A c \in All : st[c] = "superseded" => speaker # c

\* The call that speaks holds the lease, or is about to, or its client repeats the call.
SpeakerHolds == speaker \in All /\ commands = {} /\ replies = {} => st[speaker] \in {"held", "failed"}

OneHolder == \A c \in All : st[c] = "held" => known = c
=============================================================================
