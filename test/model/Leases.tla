------------------------------- MODULE Leases -------------------------------
(* One lock, its clients, the calls of the clients and the Redis nodes with the data: offer and claim, attach,      *)
(* deadlines, epochs and quarantine, not_after. README.md lists what is not modelled. Each rule that a simpler      *)
(* design lacks is a constant here, and one configuration breaks each of these rules.                               *)
EXTENDS Integers, FiniteSets, TLC

CONSTANTS
  Clients, Nobody, Calls, \* the clients; the number of successive calls for the request of a client
  Horizon, Flight,      \* the last tick; the highest number of commands in flight
  Ttl, OfferTime, Timeout, Quarantine,  \* in ticks; Timeout is the command timeout of not_after
  Lag, StopsAfter,      \* how long an old primary takes writes after the cut: assumed, and real
  Faults,               \* a subset of "flush", "restart", "failover", "failback"
  Base,                 \* the start of a deadline: "send" | "receipt" (of the reply) | "message" (pub/sub)
  Disconnect,           \* what the server does when a holder's stream breaks: "keep" | "release"
  Tokens,               \* "time" | "counter"
  Epochs,               \* an epoch names the "promotion" | "run" (the process only) | "none"
  Renewals,             \* after a takeover renew each "living" lease | each lease "outlasting" the old primary
  NotAfter,             \* TRUE: a granting command does nothing after its caller timed out
  AttachRule,           \* TRUE: a call acts only while its attach is the stored value
  Breaks,               \* TRUE: streams break, and clients open another call
  SlowReplies,          \* FALSE: a reply comes at once or is lost
  GiveBackBy,           \* a late grant is given back by its "token" | "attach", and the wait continues
  Resurrect             \* TRUE: a renewal recreates an ended lease

VARIABLES
  now,      \* every monotonic clock, and TIME on every node
  node,     \* A, and its replica B: [role, id (the value that the epoch must have), d (the data)]
  writable, \* A takes writes up to this tick, which is StopsAfter past the cut
  isCut,    \* whether A is cut off from its replica
  left,     \* faults that may still happen
  msgs,     \* commands in flight
  replies,  \* replies in flight to a caller that still waits
  wakes,    \* pub/sub messages that carry a grant (only with Base = "message")
  call,     \* call <<client, n>>: [st, ph, out (send of the command in flight), tok]
  bel,      \* the belief of a client: [st, dl (its deadline), tok]
  asked,    \* the highest token that any client had received when this client asked
  top,      \* the highest token that any client has received
  isLate    \* whether a command granted after its caller timed out

vars == <<now, node, writable, isCut, left, msgs, replies, wakes, call, bel, asked, top, isLate>>
store == <<node, writable, isCut, left>>
others == <<now, msgs, replies, wakes, call, bel, asked, top, isLate>>

Never == 0 - 1
Max(a, b) == IF a > b THEN a ELSE b
CallIds == Clients \X (1..Calls)
Nodes == {"A", "B"}
Free == [st |-> "free", who |-> Nobody, a |-> <<>>, fresh |-> FALSE, tok |-> 0, end |-> 0]
Empty == [l |-> Free, last |-> 0, q |-> {}, ended |-> {}, ep |-> 0, until |-> 0, split |-> 0]
Unused == [st |-> "unused", ph |-> "ask", out |-> Never, tok |-> 0]
NoBelief == [st |-> "none", dl |-> 0, tok |-> 0]
Over == [st |-> "over", ph |-> "ask", out |-> Never, tok |-> 0]
Done == [st |-> "done", dl |-> 0, tok |-> 0]

Init ==
  /\ now = 0
  /\ node = [n \in Nodes |-> [role |-> IF n = "A" THEN "primary" ELSE "replica", id |-> IF n = "A" THEN 1 ELSE 2,
                              d |-> [Empty EXCEPT !.ep = 1]]]
  /\ writable = Horizon /\ isCut = FALSE /\ left = Faults
  /\ msgs = {} /\ replies = {} /\ wakes = {}
  /\ call = [x \in CallIds |-> Unused]
  /\ bel = [c \in Clients |-> NoBelief]
  /\ asked = [c \in Clients |-> 0] /\ top = 0 /\ isLate = FALSE

-----------------------------------------------------------------------------
(* The scripts. Each takes the data of a node and returns the set of possible results [d, kind]. GrantNext returns  *)
(* a set because any waiter may be the head of the queue: the order of waiters is not modelled.                     *)

Runs(n) == node[n].role = "primary" /\ (n = "A" => now <= writable)
MayGrant(n) == Epochs = "none" \/ (node[n].d.ep = node[n].id /\ now >= node[n].d.until)
\* The old primary may take writes until `split`, so it may grant each lease that ends before `split` to another
\* client. A renewal of such a lease here would make two holders.
MayRenew(n) ==
  LET d == node[n].d
  IN \/ Renewals = "living" \/ Epochs = "none"
     \/ d.l.end > IF d.ep = node[n].id THEN d.split ELSE now + Lag
NextToken(d) == IF Tokens = "time" THEN Max(d.last + 1, now) ELSE d.last + 1

Purge(d) ==
  IF d.l.st = "free" \/ d.l.end > now THEN d
  ELSE IF d.l.st = "H" THEN [d EXCEPT !.l = Free, !.ended = @ \cup {d.l.who}]
  ELSE [d EXCEPT !.l = Free]

GrantNext(d) ==
  IF d.l.st # "free" THEN {d}
  ELSE {[d EXCEPT !.q = @ \ {x}, !.last = NextToken(d),
                  !.l = [st |-> IF Base = "message" THEN "H" ELSE "O", who |-> x[1], a |-> x, fresh |-> TRUE,
                         tok |-> NextToken(d), end |-> now + IF Base = "message" THEN Ttl ELSE OfferTime]]
        : x \in d.q} \cup (IF d.q = {} THEN {d} ELSE {})

Tidy(d, may) == IF may THEN GrantNext(Purge(d)) ELSE {d}

Of(d, c) == {y \in d.q : y[1] = c}
Hold(d, x) == [d EXCEPT !.l.st = "H", !.l.a = x, !.l.fresh = TRUE, !.l.end = now + Ttl]
Longer(d) == [d EXCEPT !.l.end = Max(@, now + Ttl)]
TakenOver(d, x) == IF d.l.a = x THEN d ELSE [Longer(d) EXCEPT !.l.a = x, !.l.fresh = FALSE]

\* The request of a call after GrantNext: an offer to it becomes a grant at once.
Settled(d, x) ==
  {IF e.l.who = x[1] /\ e.l.st = "O" THEN [d |-> Hold(e, x), kind |-> "granted"]
   ELSE IF e.l.who = x[1] THEN [d |-> e, kind |-> "granted"]
   ELSE [d |-> e, kind |-> "waiting"] : e \in GrantNext(d)}

Acquire(d0, x) ==
  LET d == Purge(d0)
      c == x[1]
  IN IF c \in d.ended THEN {[d |-> e, kind |-> "ended"] : e \in GrantNext(d)}
     ELSE IF d.l.who = c /\ d.l.st = "H" THEN {[d |-> TakenOver(d, x), kind |-> "granted"]}
     ELSE IF d.l.who = c THEN {[d |-> Hold(d, x), kind |-> "granted"]}
     ELSE IF Of(d, c) # {} THEN Settled([d EXCEPT !.q = (@ \ Of(d, c)) \cup {x}], x)
     ELSE {IF e.l.st = "free"
             THEN [d |-> [e EXCEPT !.last = NextToken(e),
                                   !.l = [st |-> "H", who |-> c, a |-> x, fresh |-> TRUE, tok |-> NextToken(e),
                                          end |-> now + Ttl]], kind |-> "granted"]
             ELSE [d |-> [e EXCEPT !.q = @ \cup {x}], kind |-> "waiting"] : e \in GrantNext(d)}

Claim(d0, x) ==
  LET d == Purge(d0)
      c == x[1]
  IN IF AttachRule /\ ((d.l.who = c /\ d.l.a # x) \/ Of(d, c) \ {x} # {}) THEN {[d |-> d, kind |-> "superseded"]}
     ELSE IF c \in d.ended THEN {[d |-> d, kind |-> "ended"]}
     ELSE IF d.l.who = c THEN {[d |-> IF d.l.st = "O" THEN Hold(d, x) ELSE Longer(d), kind |-> "granted"]}
     ELSE Settled([d EXCEPT !.q = (@ \ Of(d, c)) \cup {x}], x)

\* A call that ended before its answer gives its grant back, or leaves the queue.
GiveBack(d0, x, tok, may) ==
  LET d == IF may THEN Purge(d0) ELSE d0
      isIts == /\ d.l.who = x[1]
               /\ AttachRule => d.l.a = x /\ (d.l.st = "O" \/ d.l.fresh)
               /\ tok # 0 => d.l.tok = tok
      e == IF isIts THEN [d EXCEPT !.l = Free] ELSE IF tok = 0 THEN [d EXCEPT !.q = @ \ {x}] ELSE d
  IN {[d |-> f, kind |-> "returned"] : f \in Tidy(e, may)}

Renew(d0, x, tok, takesOver, may, mayRenew) ==
  LET d == IF may THEN Purge(d0) ELSE d0
      lives == d.l.st = "H" /\ d.l.who = x[1] /\ d.l.tok = tok /\ d.l.end > now
      e == [d EXCEPT !.l = [st |-> "H", who |-> x[1], a |-> x, fresh |-> FALSE, tok |-> tok, end |-> now + Ttl]]
  IN IF lives /\ AttachRule /\ d.l.a # x /\ ~takesOver THEN {[d |-> d, kind |-> "superseded"]}
     ELSE IF lives /\ ~mayRenew THEN {[d |-> d, kind |-> "refused"]}  \* the renewal fails, and the lease is not lost
     ELSE IF lives THEN {[d |-> IF takesOver THEN TakenOver(Longer(d), x) ELSE Longer(d), kind |-> "granted"]}
     ELSE IF Resurrect /\ d.l.st = "free" THEN {[d |-> e, kind |-> "granted"]}
     ELSE {[d |-> f, kind |-> "gone"] : f \in Tidy(d, may)}

Release(d0, x, tok, may) ==
  LET d == IF may THEN Purge(d0) ELSE d0
      e == IF d.l.st = "H" /\ d.l.who = x[1] /\ d.l.tok = tok
             THEN [d EXCEPT !.l = Free, !.ended = @ \cup {x[1]}] ELSE d
  IN {[d |-> f, kind |-> "none"] : f \in Tidy(e, may)}

IsGranting(m) == m.op \in {"acquire", "claim"}

Outcomes(m, n) ==
  LET d == node[n].d
      isStale == NotAfter /\ now > m.at + Timeout
      may == MayGrant(n) /\ ~isStale
  IN CASE m.op = "acquire" -> IF may THEN Acquire(d, m.x) ELSE {[d |-> d, kind |-> "refused"]}
       [] m.op = "claim" -> IF may THEN Claim(d, m.x) ELSE {[d |-> d, kind |-> "refused"]}
       [] m.op = "back" -> GiveBack(d, m.x, m.tok, may)
       [] m.op = "renew" -> Renew(d, m.x, m.tok, FALSE, may, MayRenew(n))
       [] m.op = "attach" -> Renew(d, m.x, m.tok, TRUE, may, MayRenew(n))
       [] m.op = "release" -> Release(d, m.x, m.tok, may)

-----------------------------------------------------------------------------
(* Commands and replies. A command may run at any time after its send, on the node it was sent to, or never. Its    *)
(* caller may have timed out by then.                                                                               *)

Message(op, x, n, tok) == [op |-> op, x |-> x, n |-> n, at |-> now, tok |-> tok]
Unawaited(op, x, n, tok) == [op |-> op, x |-> x, n |-> n, at |-> Never, tok |-> tok]
Reachable(n) == node[n].role = "primary"

\* B gets each change of A at once until the cut. A takeover loses all changes since the cut.
Written(n, d) ==
  IF n = "A" /\ ~isCut /\ node["B"].role = "replica" THEN [node EXCEPT !["A"].d = d, !["B"].d = d]
  ELSE [node EXCEPT ![n].d = d]

NewWakes(d, e) ==
  IF Base = "message" /\ e.l.st = "H" /\ e.l.tok # d.l.tok /\ e.l.a \in d.q THEN {[x |-> e.l.a, tok |-> e.l.tok]} ELSE {}

\* Without slow replies a reply is received before any other step.
Calm == SlowReplies \/ replies = {}

Run ==
  \E m \in msgs :
    /\ Calm /\ Runs(m.n)
    /\ msgs' = msgs \ {m}
    /\ \E o \in Outcomes(m, m.n) :
         /\ node' = Written(m.n, o.d)
         /\ wakes' = wakes \cup NewWakes(node[m.n].d, o.d)
         /\ LET isAwaited == m.at # Never /\ call[m.x].out = m.at
            IN /\ IF isAwaited /\ o.kind # "refused"
                    THEN replies' = replies \cup {[x |-> m.x, at |-> m.at, kind |-> o.kind, tok |-> o.d.l.tok,
                                                   rest |-> IF o.kind = "granted" THEN o.d.l.end - now ELSE 0]}
                    ELSE UNCHANGED replies
               /\ call' = IF isAwaited /\ o.kind = "refused" THEN [call EXCEPT ![m.x].out = Never] ELSE call
               /\ isLate' = (isLate \/ (IsGranting(m) /\ o.kind = "granted" /\ now > m.at + Timeout))
    /\ UNCHANGED <<now, writable, isCut, left, bel, asked, top>>

LoseReply ==
  /\ ~SlowReplies /\ replies # {} /\ replies' = {}
  /\ UNCHANGED <<now, store, msgs, wakes, call, bel, asked, top, isLate>>

\* The connection breaks. The caller sends the command again, and the first copy may still run.
BreakConnection ==
  \E x \in CallIds :
    /\ SlowReplies /\ call[x].out # Never
    /\ call' = [call EXCEPT ![x].out = Never]
    /\ replies' = {r \in replies : r.x # x}
    /\ msgs' = {IF ~IsGranting(m) /\ m.x = x /\ m.at = call[x].out THEN [m EXCEPT !.at = Never] ELSE m : m \in msgs}
    /\ UNCHANGED <<now, store, wakes, bel, asked, top, isLate>>

Drop == \E m \in msgs : /\ Calm
                        /\ msgs' = msgs \ {m}
                        /\ UNCHANGED <<now, store, replies, wakes, call, bel, asked, top, isLate>>

\* A touch: servers with waiters send it every second, and at the earliest end of a lease.
Touch ==
  \E n \in Nodes :
    /\ Calm /\ Runs(n) /\ MayGrant(n)
    /\ \E d \in Tidy(node[n].d, TRUE) :
         /\ d # node[n].d
         /\ node' = Written(n, d)
         /\ wakes' = wakes \cup NewWakes(node[n].d, d)
    /\ UNCHANGED <<now, writable, isCut, left, msgs, replies, call, bel, asked, top, isLate>>

\* After the answer EPOCH one script stores the new epoch and starts the quarantine.
Adopt ==
  \E n \in Nodes :
    /\ Calm /\ Epochs # "none" /\ Runs(n) /\ node[n].d.ep # node[n].id
    /\ node' = Written(n, [node[n].d EXCEPT !.ep = node[n].id, !.until = now + Quarantine,
                                       !.split = now + Lag])
    /\ UNCHANGED <<now, writable, isCut, left, msgs, replies, wakes, call, bel, asked, top, isLate>>

-----------------------------------------------------------------------------
(* Clients, and the calls of servers on their behalf. A server is only its calls and connections: two calls are on  *)
(* two servers, and a command goes to any node with the role primary. The offset has its longest value (the handler *)
(* starts when the client asks), and an answer reaches the client when it is written.                               *)

Send(m) == Cardinality(msgs) < Flight /\ msgs' = msgs \cup {m}

Ask ==
  \E x \in CallIds, n \in Nodes :
    /\ Calm /\ call[x].st = "unused" /\ bel[x[1]].st # "done" /\ Reachable(n)
    /\ IF x[2] = 1 THEN TRUE ELSE call[<<x[1], x[2] - 1>>].st \in {"left", "over"}
    /\ \E op \in {"acquire"} \cup (IF bel[x[1]].st = "on" THEN {"attach"} ELSE {}) :
         Send(Message(op, x, n, IF op = "attach" THEN bel[x[1]].tok ELSE 0))
    /\ call' = [call EXCEPT ![x].st = "open", ![x].out = now]
    /\ asked' = IF x[2] = 1 THEN [asked EXCEPT ![x[1]] = top] ELSE asked
    /\ UNCHANGED <<now, store, replies, wakes, bel, top, isLate>>

Alive(x) == call[x].st \in {"open", "left"} /\ call[x].out = Never

Again ==
  \E x \in CallIds, n \in Nodes :
    /\ Calm /\ Alive(x) /\ Reachable(n)
    /\ LET c == x[1]
           d == node[n].d
       IN \/ call[x].ph = "ask" /\ call[x].st = "open" /\ bel[c].st # "done" /\ Send(Message("acquire", x, n, 0))
          \/ /\ call[x].ph = "wait" /\ bel[c].st # "done"
             /\ x \notin d.q  \* as a pub/sub message or a touch reported
             /\ Send(Message("claim", x, n, 0))
          \/ call[x].ph = "back" /\ Send(Message("back", x, n, IF GiveBackBy = "token" THEN call[x].tok ELSE 0))
          \/ /\ call[x].ph = "held" /\ (call[x].st = "open" => bel[c].st = "on")
             /\ d.l.end < now + Ttl  \* skips renewals without an effect: fewer states
             /\ Send(Message("renew", x, n, call[x].tok))
    /\ call' = [call EXCEPT ![x].out = now]
    /\ UNCHANGED <<now, store, replies, wakes, bel, asked, top, isLate>>

Believe(c, dl, tok) ==
  /\ bel' = [bel EXCEPT ![c] = [st |-> "on", dl |-> Max(@.dl, dl), tok |-> tok]]
  /\ top' = IF \E e \in Clients : call[<<e, 1>>].st = "unused" THEN Max(top, tok) ELSE 0

Granted(r) ==
  LET x == r.x
      c == x[1]
      dl == IF Base = "receipt" THEN now + r.rest ELSE r.at + r.rest
      held == [st |-> call[x].st, ph |-> "held", out |-> Never, tok |-> r.tok]
  IN IF call[x].st = "open" /\ bel[c].st # "done" /\ now < dl
       THEN call' = [call EXCEPT ![x] = held] /\ Believe(c, dl, r.tok)
     ELSE IF call[x].st = "open" /\ bel[c].st = "none"  \* past its deadline: the grant is given back first
       THEN call' = [call EXCEPT ![x].ph = "back", ![x].out = Never, ![x].tok = r.tok] /\ UNCHANGED <<bel, top>>
     ELSE call' = [call EXCEPT ![x] = held] /\ UNCHANGED <<bel, top>>

Answered ==
  \E r \in replies :
    LET x == r.x
        c == x[1]
    IN /\ replies' = replies \ {r}
       /\ IF r.kind = "granted" THEN Granted(r)
          ELSE IF r.kind \in {"waiting", "returned"}
            THEN call' = [call EXCEPT ![x].ph = "wait", ![x].out = Never, ![x].tok = 0] /\ UNCHANGED <<bel, top>>
          ELSE /\ call' = [call EXCEPT ![x] = Over]  \* LOST, REQUEST_FINISHED or SUPERSEDED
               /\ bel' = IF call[x].st = "open" /\ r.kind # "superseded" THEN [bel EXCEPT ![c] = Done] ELSE bel
               /\ UNCHANGED top
       /\ UNCHANGED <<now, store, msgs, wakes, asked, isLate>>

\* Only with Base = "message": the message is the grant, and the deadline counts from its receipt.
Told ==
  \E w \in wakes :
    /\ Calm /\ wakes' = wakes \ {w}
    /\ IF call[w.x].st = "open" /\ bel[w.x[1]].st = "none"
         THEN Believe(w.x[1], now + Ttl, w.tok)
              /\ call' = [call EXCEPT ![w.x] = [st |-> "open", ph |-> "held", out |-> Never, tok |-> w.tok]]
         ELSE UNCHANGED <<call, bel, top>>
    /\ UNCHANGED <<now, store, msgs, replies, asked, isLate>>

\* The client no longer gets answers of this call: its connection broke, or the client ended. The server may not know.
Leave ==
  \E x \in CallIds :
    /\ Calm /\ Breaks /\ call[x].st = "open"
    /\ call' = [call EXCEPT ![x].st = "left"]
    /\ UNCHANGED <<now, store, msgs, replies, wakes, bel, asked, top, isLate>>

\* The server notices the end of the call. It keeps an answered lease, because the client may believe in it.
EndCall ==
  \E x \in CallIds, n \in Nodes :
    /\ Calm /\ call[x].st = "left" /\ Reachable(n)
    /\ call' = [call EXCEPT ![x] = Over]
    /\ replies' = {r \in replies : r.x # x}
    /\ IF call[x].ph # "held" THEN Send(Unawaited("back", x, n, 0))
       ELSE IF Disconnect = "release" THEN Send(Unawaited("release", x, n, call[x].tok))
       ELSE UNCHANGED msgs
    /\ UNCHANGED <<now, store, wakes, bel, asked, top, isLate>>

Finish ==
  \E c \in Clients, n \in Nodes :
    /\ Calm /\ bel[c].st = "on" /\ Reachable(n)
    /\ bel' = [bel EXCEPT ![c] = Done]
    /\ Send(Unawaited("release", <<c, 1>>, n, bel[c].tok))
    /\ call' = [x \in CallIds |-> IF x[1] = c /\ call[x].st = "open" THEN Over ELSE call[x]]
    /\ UNCHANGED <<now, store, replies, wakes, asked, top, isLate>>

-----------------------------------------------------------------------------
(* Faults. Each happens at most once, at any time.                                                                  *)

Flush ==
  /\ Calm
  /\ "flush" \in left /\ left' = left \ {"flush"}
  /\ node' = [node EXCEPT !["A"].d = Empty]
  /\ UNCHANGED <<writable, isCut>> /\ UNCHANGED others

Cut ==
  /\ Calm
  /\ left \cap {"restart", "failover"} # {} /\ ~isCut
  /\ isCut' = TRUE
  /\ writable' = IF "failover" \in left THEN now + StopsAfter ELSE writable
  /\ UNCHANGED <<node, left>> /\ UNCHANGED others

\* "restart": A's process ends, and B stands for a new process with A's data at the cut. "failover": A continues
\* beside B.
Rise ==
  /\ Calm
  /\ isCut /\ node["B"].role = "replica"
  /\ left' = left \ {"restart", "failover"}
  /\ node' = [node EXCEPT !["B"].role = "primary", !["A"].role = IF "restart" \in left THEN "gone" ELSE @]
  /\ UNCHANGED <<writable, isCut>> /\ UNCHANGED others

\* B dies before A has replicated B's writes. A is the primary again: the same process with its old data.
FallBack ==
  /\ Calm
  /\ "failback" \in left /\ node["B"].role = "primary"
  /\ left' = left \ {"failback"}
  /\ node' = [node EXCEPT !["B"].role = "gone", !["A"].id = IF Epochs = "promotion" THEN 3 ELSE @]
  /\ writable' = Horizon
  /\ UNCHANGED isCut /\ UNCHANGED others

\* Belief ends at the local deadline. A call gives a command up after Timeout. To save states, the model removes
\* commands that can no longer have an effect, and the send time of commands without a waiting caller.
GivesUp(x) == call[x].out # Never /\ now + 1 > call[x].out + Timeout
IsFutile(m) ==
  IF IsGranting(m) THEN NotAfter /\ now + 1 > m.at + Timeout
  ELSE /\ call[m.x].out # m.at \/ GivesUp(m.x)
       /\ m.tok # 0 /\ ~Resurrect /\ \A n \in Nodes : node[n].d.l.who # m.x[1] \/ node[n].d.l.tok # m.tok

Tick ==
  /\ Calm /\ now < Horizon
  /\ now' = now + 1
  /\ bel' = [c \in Clients |-> IF bel[c].st = "on" /\ bel[c].dl <= now + 1 THEN Done ELSE bel[c]]
  /\ msgs' = {IF ~IsGranting(m) /\ GivesUp(m.x) /\ call[m.x].out = m.at THEN [m EXCEPT !.at = Never] ELSE m
              : m \in {m \in msgs : ~IsFutile(m)}}
  /\ replies' = {r \in replies : ~GivesUp(r.x)}
  /\ call' = [x \in CallIds |->
       IF call[x].st = "open" /\ bel[x[1]].st = "on" /\ bel'[x[1]].st = "done" THEN Over
       ELSE IF GivesUp(x) THEN [call[x] EXCEPT !.out = Never] ELSE call[x]]
  /\ UNCHANGED <<store, wakes, asked, top, isLate>>

Next ==
  \/ Run \/ Answered \/ LoseReply \/ BreakConnection \/ Drop \/ Touch \/ Adopt
  \/ Ask \/ Again \/ Told \/ Leave \/ EndCall \/ Finish
  \/ Flush \/ Cut \/ Rise \/ FallBack \/ Tick

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
Believes(c) == bel[c].st = "on"

Exclusion == \A c, e \in Clients : c # e => ~(Believes(c) /\ Believes(e))
TokensRise == \A c \in Clients : Believes(c) => bel[c].tok > asked[c]
NoResurrection == \A n \in Nodes : node[n].d.l.who \notin node[n].d.ended
NoLateGrant == ~isLate
\* docs/design/invariants.md, 10: without a loss of data no lease in Redis ends before the belief in it.
TruthfulOffset ==
  (left = Faults /\ ~isCut) =>
    \A c \in Clients : Believes(c) => node["A"].d.l.who = c /\ bel[c].dl <= node["A"].d.l.end
\* An unclaimed offer blocks others for at most OfferTime. No request is in the queue twice, or beside its own lease.
OffersAreShort ==
  \A n \in Nodes : LET d == node[n].d
                   IN /\ d.l.st = "O" => d.l.end <= now + OfferTime
                      /\ \A c \in Clients : Cardinality(Of(d, c)) + (IF d.l.who = c THEN 1 ELSE 0) <= 1

Symmetry == Permutations(Clients)
=============================================================================
