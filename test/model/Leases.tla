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
  Faults,               \* a subset of "flush", "restart", "failover", "failback", "revoke"
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
  Resurrect,            \* TRUE: a renewal recreates an ended lease
  Revokes,              \* a revoked lease is "kept" to its end | "freed" at once | "renewed" by later renewals | freed when
                        \* its call claims ("claim-frees")
  Servers,              \* the number of servers with calls: each call n of a client is on the server Min(n, Servers)
  Direct,               \* a script that makes room grants to a waiter of its own server, and its reply has the grant:
                        \* "none": only offers | "rule" | a design that lacks a part of the rule
  Expired,              \* an expired lease of which no client was told: the request has finished ("final") | its call
                        \* gives the lease back ("returned") | the script that purges the lease queues it ("queued")
  Prompt                \* TRUE: no server delays a due step past a tick, and commands are not lost

VARIABLES
  now,      \* every monotonic clock, and TIME on every node
  node,     \* A, and its replica B: [role, id (the value that the epoch must have), d (the data)]
  writable, \* A takes writes up to this tick, which is StopsAfter past the cut
  isCut,    \* whether A is cut off from its replica
  left,     \* faults that may still happen
  msgs,     \* commands in flight
  replies,  \* replies in flight to a caller that still waits
  wakes,    \* pub/sub messages that carry a grant (only with Base = "message")
  call,     \* call <<client, n>>: [st, ph, out (send of the command in flight), tok, seen (with direct grants: the
            \* highest token that the call was answered with)]
  bel,      \* the belief of a client: [st, dl (its deadline), tok]
  asked,    \* the highest token that any client had received when this client asked
  top,      \* the highest token that any client has received
  isLate    \* whether a command granted after its caller timed out

vars == <<now, node, writable, isCut, left, msgs, replies, wakes, call, bel, asked, top, isLate>>
store == <<node, writable, isCut, left>>
others == <<now, msgs, replies, wakes, call, bel, asked, top, isLate>>

Never == 0 - 1
Max(a, b) == IF a > b THEN a ELSE b
Min(a, b) == IF a < b THEN a ELSE b
IsDirect == Direct # "none"
ServerOf(x) == IF IsDirect THEN Min(x[2], Servers) ELSE 0
CallIds == Clients \X (1..Calls)
Nodes == {"A", "B"}
\* `rev`: the end of the lease at its revocation.
Free == [st |-> "free", who |-> Nobody, a |-> <<>>, fresh |-> FALSE, claimed |-> FALSE, tok |-> 0, end |-> 0, rev |-> 0]
Empty == [l |-> Free, last |-> 0, q |-> {}, ended |-> {}, back |-> {}, ep |-> 0, until |-> 0, split |-> 0]
Unused == [st |-> "unused", ph |-> "ask", out |-> Never, tok |-> 0, seen |-> 0]
NoBelief == [st |-> "none", dl |-> 0, tok |-> 0]
Over == [Unused EXCEPT !.st = "over"]
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
(* a set because any waiter may be the head of the queue: the order of waiters is not modelled. `s` is the server    *)
(* that sent the script; 0 is a server without waiters.                                                             *)

Runs(n) == node[n].role = "primary" /\ (n = "A" => now <= writable)
MayGrant(n) == Epochs = "none" \/ (node[n].d.ep = node[n].id /\ now >= node[n].d.until)
\* The old primary may take writes until `split`, so it may grant each lease that ends before `split` to another
\* client. A renewal of such a lease here would make two holders.
MayRenew(n) ==
  LET d == node[n].d
  IN \/ Renewals = "living" \/ Epochs = "none"
     \/ d.l.end > IF d.ep = node[n].id THEN d.split ELSE now + Lag
NextToken(d) == IF Tokens = "time" THEN Max(d.last + 1, now) ELSE d.last + 1

\* A tombstone names the lease in `back` while one call alone was answered with the lease.
Purge(d) ==
  IF d.l.st = "free" \/ d.l.end > now THEN d
  ELSE IF d.l.st = "O" THEN [d EXCEPT !.l = Free]
  ELSE IF Expired = "queued" /\ d.l.fresh /\ d.l.rev = 0 THEN [d EXCEPT !.l = Free, !.q = @ \cup {d.l.a}]
  ELSE [d EXCEPT !.l = Free, !.ended = @ \cup {d.l.who},
                 !.back = IF Expired = "returned" /\ d.l.fresh /\ d.l.rev = 0 THEN @ \cup {[x |-> d.l.a, tok |-> d.l.tok]} ELSE @]

Grants(x, s) == Base = "message" \/ (IsDirect /\ s = ServerOf(x))
GrantNext(d, s) ==
  IF d.l.st # "free" THEN {d}
  ELSE {[d EXCEPT !.q = @ \ {x}, !.last = NextToken(d),
                  !.l = [st |-> IF Grants(x, s) THEN "H" ELSE "O", who |-> x[1], a |-> x, fresh |-> TRUE,
                         claimed |-> FALSE, tok |-> NextToken(d),
                         end |-> now + IF Grants(x, s) THEN Ttl ELSE OfferTime, rev |-> 0]]
        : x \in d.q} \cup (IF d.q = {} THEN {d} ELSE {})

Tidy(d, may, s) == IF may THEN GrantNext(Purge(d), s) ELSE {d}

Of(d, c) == {y \in d.q : y[1] = c}
\* A lease is claimed once a command of its call was answered with the lease. Only direct grants need this.
Claimed == IsDirect
Hold(d, x) == [d EXCEPT !.l.st = "H", !.l.a = x, !.l.fresh = TRUE, !.l.claimed = Claimed, !.l.end = now + Ttl]
Longer(d) == [d EXCEPT !.l.claimed = Claimed, !.l.end = Max(@, now + Ttl)]
TakenOver(d, x) ==
  IF d.l.a = x THEN [d EXCEPT !.l.claimed = Claimed] ELSE [Longer(d) EXCEPT !.l.a = x, !.l.fresh = FALSE]

\* The request of a call after GrantNext: an offer to it becomes a grant at once.
Settled(d, x, s) ==
  {IF e.l.who = x[1] /\ (e.l.st = "O" \/ IsDirect) THEN [d |-> Hold(e, x), kind |-> "granted"]
   ELSE IF e.l.who = x[1] THEN [d |-> e, kind |-> "granted"]
   ELSE [d |-> e, kind |-> "waiting"] : e \in GrantNext(d, s)}

\* The lease of the request was revoked. Only a call that alone was answered with the lease may give the lease back.
IsStopped(d, c) == d.l.who = c /\ d.l.st = "H" /\ d.l.rev # 0 /\ Revokes # "renewed"
Revoked(d, x) == {[d |-> d, kind |-> IF d.l.fresh /\ d.l.a = x THEN "returnable" ELSE "ended"]}
EndedNow(d) == [d EXCEPT !.l = Free, !.ended = @ \cup {d.l.who}]

\* The lease of the request has ended, maybe without an answer to the asking call.
EndedFor(d, x) == IF \E b \in d.back : b.x = x THEN "returnable" ELSE "ended"

Acquire(d0, x, s) ==
  LET d == Purge(d0)
      c == x[1]
  IN IF c \in d.ended THEN {[d |-> e, kind |-> EndedFor(d, x)]
                              : e \in GrantNext([d EXCEPT !.back = {b \in @ : b.x[1] # c \/ b.x = x}], s)}
     ELSE IF IsStopped(d, c) THEN Revoked(d, x)
     ELSE IF d.l.who = c /\ d.l.st = "H" THEN {[d |-> TakenOver(d, x), kind |-> "granted"]}
     ELSE IF d.l.who = c THEN {[d |-> Hold(d, x), kind |-> "granted"]}
     ELSE IF Of(d, c) # {} THEN Settled([d EXCEPT !.q = (@ \ Of(d, c)) \cup {x}], x, s)
     ELSE {IF e.l.st = "free"
             THEN [d |-> [e EXCEPT !.last = NextToken(e),
                                   !.l = [st |-> "H", who |-> c, a |-> x, fresh |-> TRUE, claimed |-> Claimed,
                                          tok |-> NextToken(e), end |-> now + Ttl, rev |-> 0]], kind |-> "granted"]
             ELSE [d |-> [e EXCEPT !.q = @ \cup {x}], kind |-> "waiting"] : e \in GrantNext(d, s)}

Claim(d0, x, s) ==
  LET d == Purge(d0)
      c == x[1]
  IN IF AttachRule /\ ((d.l.who = c /\ d.l.a # x) \/ Of(d, c) \ {x} # {}) THEN {[d |-> d, kind |-> "superseded"]}
     ELSE IF c \in d.ended THEN {[d |-> d, kind |-> EndedFor(d, x)]}
     ELSE IF IsStopped(d, c) /\ Revokes = "claim-frees" /\ d.l.fresh
       THEN {[d |-> e, kind |-> "ended"] : e \in GrantNext(EndedNow(d), s)}
     ELSE IF IsStopped(d, c) THEN Revoked(d, x)
     ELSE IF d.l.who = c THEN {[d |-> IF d.l.st = "O" THEN Hold(d, x) ELSE Longer(d), kind |-> "granted"]}
     ELSE Settled([d EXCEPT !.q = (@ \ Of(d, c)) \cup {x}], x, s)

\* While grants pause, a claim learns only that its lease was revoked.
ClaimInPause(d, x) ==
  IF IsStopped(d, x[1]) /\ d.l.a = x THEN Revoked(d, x) ELSE {[d |-> d, kind |-> "refused"]}

\* A call that ended before its answer gives its grant back, or leaves the queue.
GiveBack(d0, x, tok, mayBeClaimed, may, s) ==
  LET d == IF may THEN Purge(d0) ELSE d0
      isIts == /\ d.l.who = x[1]
               /\ AttachRule => d.l.a = x /\ (d.l.st = "O" \/ d.l.fresh)
               /\ tok # 0 => d.l.tok = tok
               /\ mayBeClaimed \/ ~d.l.claimed
      its == {b \in d.back : b.x = x /\ (tok = 0 \/ b.tok = tok)}
      isStopped == isIts /\ IsStopped(d, x[1])
      e == IF isStopped THEN EndedNow(d)
           ELSE IF isIts THEN [d EXCEPT !.l = Free]
           ELSE IF its # {} THEN [d EXCEPT !.ended = @ \ {x[1]}, !.back = @ \ its]
           ELSE IF tok = 0 THEN [d EXCEPT !.q = @ \ {x}] ELSE d
  IN {[d |-> f, kind |-> IF isStopped THEN "ended" ELSE "returned"] : f \in Tidy(e, may, s)}

Renew(d0, x, tok, takesOver, may, mayRenew, s) ==
  LET d == IF may THEN Purge(d0) ELSE d0
      lives == d.l.st = "H" /\ d.l.who = x[1] /\ d.l.tok = tok /\ d.l.end > now
      e == [d EXCEPT !.l = [st |-> "H", who |-> x[1], a |-> x, fresh |-> FALSE, claimed |-> FALSE, tok |-> tok,
                             end |-> now + Ttl, rev |-> 0]]
  IN IF lives /\ AttachRule /\ d.l.a # x /\ ~takesOver THEN {[d |-> d, kind |-> "superseded"]}
     ELSE IF lives /\ IsStopped(d, x[1]) THEN {[d |-> d, kind |-> "gone"]}
     ELSE IF lives /\ ~mayRenew THEN {[d |-> d, kind |-> "refused"]}  \* the renewal fails, and the lease is not lost
     ELSE IF lives THEN {[d |-> IF takesOver THEN TakenOver(Longer(d), x) ELSE Longer(d), kind |-> "granted"]}
     ELSE IF Resurrect /\ d.l.st = "free" THEN {[d |-> e, kind |-> "granted"]}
     ELSE {[d |-> f, kind |-> "gone"] : f \in Tidy(d, may, s)}

Release(d0, x, tok, may, s) ==
  LET d == IF may THEN Purge(d0) ELSE d0
      e == IF d.l.st = "H" /\ d.l.who = x[1] /\ d.l.tok = tok
             THEN [d EXCEPT !.l = Free, !.ended = @ \cup {x[1]}] ELSE d
  IN {[d |-> f, kind |-> "none"] : f \in Tidy(e, may, s)}

IsGranting(m) == m.op \in {"acquire", "claim"}

\* The designs whose store takes back a direct grant although the grant was claimed.
ReturnsClaimed == {"return-beside-claim", "return-beside-acquire", "return-answered"}
Outcomes(m, n) ==
  LET d == node[n].d
      isStale == NotAfter /\ now > m.at + Timeout
      isGuarded == IsGranting(m) \/ Direct # "unguarded"
      may == (MayGrant(n) \/ ~isGuarded) /\ ~isStale
  IN CASE m.op = "acquire" -> IF may THEN Acquire(d, m.x, m.s) ELSE {[d |-> d, kind |-> "refused"]}
       [] m.op = "claim" -> IF may THEN Claim(d, m.x, m.s)
                            ELSE IF isStale THEN {[d |-> d, kind |-> "refused"]} ELSE ClaimInPause(d, m.x)
       [] m.op = "back" -> GiveBack(d, m.x, m.tok, TRUE, may, m.s)
       [] m.op = "unheard" -> GiveBack(d, m.x, m.tok, Direct \in ReturnsClaimed, may, m.s)
       [] m.op = "renew" -> Renew(d, m.x, m.tok, FALSE, may, MayRenew(n), m.s)
       [] m.op = "attach" -> Renew(d, m.x, m.tok, TRUE, may, MayRenew(n), m.s)
       [] m.op = "release" -> Release(d, m.x, m.tok, may, m.s)

-----------------------------------------------------------------------------
(* Commands and replies. A command may run at any time after its send, on the node it was sent to, or never. Its    *)
(* caller may have timed out by then.                                                                               *)

Message(op, x, n, tok) == [op |-> op, x |-> x, n |-> n, at |-> now, tok |-> tok, s |-> ServerOf(x)]
\* With direct grants the send counts here too: the reply may carry a grant.
Unawaited(op, x, n, tok) == [Message(op, x, n, tok) EXCEPT !.at = IF IsDirect THEN now ELSE Never]
Reachable(n) == node[n].role = "primary"
\* The commands that a call awaits in each phase. A reply to an earlier command, whose connection broke, never arrives.
OpsOf == [ask |-> {"acquire", "attach"}, wait |-> {"claim"}, back |-> {"back"}, held |-> {"renew"}]

\* B gets each change of A at once until the cut. A takeover loses all changes since the cut.
Written(n, d) ==
  IF n = "A" /\ ~isCut /\ node["B"].role = "replica" THEN [node EXCEPT !["A"].d = d, !["B"].d = d]
  ELSE [node EXCEPT ![n].d = d]

NewWakes(d, e) ==
  IF Base = "message" /\ e.l.st = "H" /\ e.l.tok # d.l.tok /\ e.l.a \in d.q THEN {[x |-> e.l.a, tok |-> e.l.tok]} ELSE {}

\* The direct grant of a script that has changed `d` to `e`, for a call other than the script's own. `at`: the send.
DirectGrants(d, e, x, at) ==
  IF IsDirect /\ e.l.st = "H" /\ e.l.tok # d.l.tok /\ e.l.a \in d.q /\ e.l.a # x
    THEN {[x |-> e.l.a, at |-> at, kind |-> "direct", tok |-> e.l.tok, rest |-> e.l.end - now]} ELSE {}

\* Without slow replies a reply is received before any other step.
Calm == SlowReplies \/ replies = {}

Run ==
  \E m \in msgs :
    /\ Calm /\ Runs(m.n)
    /\ msgs' = msgs \ {m}
    /\ \E o \in Outcomes(m, m.n) :
         /\ node' = Written(m.n, o.d)
         /\ wakes' = wakes \cup NewWakes(node[m.n].d, o.d)
         /\ LET isAwaited == m.at # Never /\ call[m.x].out = m.at /\ m.op \in OpsOf[call[m.x].ph]
                its == {b \in o.d.back : b.x = m.x}
                own == [x |-> m.x, at |-> m.at, kind |-> o.kind,
                        tok |-> IF o.kind = "returnable" /\ its # {} THEN (CHOOSE b \in its : TRUE).tok ELSE o.d.l.tok,
                        rest |-> IF o.kind = "granted" THEN o.d.l.end - now ELSE 0]
                direct == DirectGrants(node[m.n].d, o.d, m.x, m.at)
                isGrant == direct # {} \/ (IsGranting(m) /\ o.kind = "granted")
            IN /\ replies' = replies \cup direct \cup (IF isAwaited /\ o.kind # "refused" THEN {own} ELSE {})
               /\ call' = IF isAwaited /\ o.kind = "refused" THEN [call EXCEPT ![m.x].out = Never] ELSE call
               /\ isLate' = (isLate \/ (isGrant /\ now > m.at + Timeout))
    /\ UNCHANGED <<now, writable, isCut, left, bel, asked, top>>

\* A prompt server sends the command again at once.
LoseReply ==
  /\ ~SlowReplies /\ replies # {} /\ replies' = {} /\ ~(Prompt /\ Breaks)
  /\ call' = IF Prompt THEN [x \in CallIds |-> IF \E r \in replies : r.x = x /\ r.kind # "direct"
                                               THEN [call[x] EXCEPT !.out = Never] ELSE call[x]] ELSE call
  /\ UNCHANGED <<now, store, msgs, wakes, bel, asked, top, isLate>>

\* The connection of a script with a direct grant breaks. The waiting call does not notice.
LoseDirect ==
  \E r \in replies :
    /\ SlowReplies /\ r.kind = "direct" /\ replies' = replies \ {r}
    /\ UNCHANGED <<now, store, msgs, wakes, call, bel, asked, top, isLate>>

\* The connection breaks. The caller sends the command again, and the first copy may still run.
BreakConnection ==
  \E x \in CallIds :
    /\ SlowReplies /\ call[x].out # Never
    /\ call' = [call EXCEPT ![x].out = Never]
    /\ replies' = {r \in replies : r.x # x \/ r.kind = "direct"}
    /\ msgs' = {IF ~IsGranting(m) /\ m.x = x /\ m.at = call[x].out THEN [m EXCEPT !.at = Never] ELSE m : m \in msgs}
    /\ UNCHANGED <<now, store, wakes, bel, asked, top, isLate>>

Drop == \E m \in msgs : /\ Calm /\ ~Prompt
                        /\ msgs' = msgs \ {m}
                        /\ UNCHANGED <<now, store, replies, wakes, call, bel, asked, top, isLate>>

\* A touch: servers with waiters send it every second, and at the earliest end of a lease.
Touch ==
  \E n \in Nodes, s \in (IF IsDirect THEN 0..Servers ELSE {0}) :
    /\ Calm /\ Runs(n) /\ MayGrant(n)
    /\ \E d \in Tidy(node[n].d, TRUE, s) :
         /\ d # node[n].d
         /\ node' = Written(n, d)
         /\ wakes' = wakes \cup NewWakes(node[n].d, d)
         /\ replies' = replies \cup DirectGrants(node[n].d, d, <<>>, now)
    /\ UNCHANGED <<now, writable, isCut, left, msgs, call, bel, asked, top, isLate>>

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
             /\ Direct = "no-recheck" => d.l.a = x /\ d.l.st = "O"
             /\ Send(Message("claim", x, n, 0))
          \/ call[x].ph = "back" /\ Send(Message("back", x, n, IF GiveBackBy = "token" THEN call[x].tok ELSE 0))
          \/ /\ call[x].ph = "held" /\ (call[x].st = "open" => bel[c].st = "on")
             /\ d.l.end < now + Ttl  \* skips renewals without an effect: fewer states
             /\ Send(Message("renew", x, n, call[x].tok))
    /\ call' = [call EXCEPT ![x].out = now]
    /\ UNCHANGED <<now, store, replies, wakes, bel, asked, top, isLate>>

\* With direct grants a call that is over, and a client that no longer believes, remember the token that they got.
Seen(x, tok) == IF IsDirect THEN Max(call[x].seen, tok) ELSE 0
OverOf(x) == [Over EXCEPT !.seen = call[x].seen]
DoneOf(c) == [Done EXCEPT !.tok = IF IsDirect THEN bel[c].tok ELSE 0]

Believe(c, dl, tok) ==
  /\ bel' = [bel EXCEPT ![c] = [st |-> "on", dl |-> Max(@.dl, dl), tok |-> tok]]
  /\ top' = IF \E e \in Clients : call[<<e, 1>>].st = "unused" THEN Max(top, tok) ELSE 0

Granted(r) ==
  LET x == r.x
      c == x[1]
      isByReceipt == Base = "receipt" \/ (Direct = "from-receipt" /\ r.kind = "direct")
      dl == IF isByReceipt THEN now + r.rest ELSE r.at + r.rest
      held == [st |-> call[x].st, ph |-> "held", out |-> Never, tok |-> r.tok, seen |-> Seen(x, r.tok)]
  IN IF call[x].st = "open" /\ bel[c].st # "done" /\ now < dl
       THEN call' = [call EXCEPT ![x] = held] /\ Believe(c, dl, r.tok)
     ELSE IF call[x].st = "open" /\ bel[c].st = "none"  \* past its deadline: the grant is given back first
       THEN /\ call' = [call EXCEPT ![x] = [held EXCEPT !.ph = "back"]]
            /\ UNCHANGED <<bel, top>>
     ELSE call' = [call EXCEPT ![x] = held] /\ UNCHANGED <<bel, top>>

\* A call takes a direct grant only while it waits without a command in flight, because otherwise the reply of that
\* command decides; and only if the call was not answered with this grant before. The grant of a call that is over is
\* given back, and the store keeps a lease that was claimed.
Takes(r) ==
  LET y == call[r.x]
  IN y.ph = "wait" /\ y.st \in {"open", "left"} /\ y.out = Never /\ (r.tok > y.seen \/ Direct = "taken-again")
IsReturned(r) ==
  LET y == call[r.x]
  IN CASE Direct = "no-return" -> FALSE
       [] Direct = "return-beside-claim" -> y.st = "open" /\ y.ph = "wait"
       [] Direct = "return-beside-acquire" -> y.st = "open" /\ y.ph = "ask"
       [] Direct = "return-answered" -> y.seen = r.tok
       [] OTHER -> y.st = "over"

DirectlyGranted(r) ==
  IF Takes(r) THEN Granted(r) /\ UNCHANGED msgs
  ELSE /\ IF IsReturned(r)
            THEN \E n \in Nodes : Reachable(n) /\ msgs' = msgs \cup {Unawaited("unheard", r.x, n, r.tok)}
            ELSE UNCHANGED msgs
       /\ UNCHANGED <<call, bel, top>>

\* LOST, REQUEST_FINISHED or SUPERSEDED
Refused(r) ==
  LET x == r.x
      c == x[1]
  IN /\ call' = [call EXCEPT ![x] = OverOf(x)]
     /\ bel' = IF call[x].st = "open" /\ r.kind # "superseded" THEN [bel EXCEPT ![c] = DoneOf(c)] ELSE bel
     /\ UNCHANGED top

Answered ==
  \E r \in replies :
    LET x == r.x
        Goes(ph, tok) ==
          /\ call' = [call EXCEPT ![x].ph = ph, ![x].out = Never, ![x].tok = tok, ![x].seen = Seen(x, tok)]
          /\ UNCHANGED <<bel, top>>
    IN /\ replies' = replies \ {r}
       /\ IF r.kind = "direct" THEN DirectlyGranted(r)
          ELSE /\ UNCHANGED msgs
               /\ IF r.kind = "granted" THEN Granted(r)
                  ELSE IF r.kind \in {"waiting", "returned"} THEN Goes("wait", 0)
                  ELSE IF r.kind = "returnable" THEN Goes("back", r.tok)
                  ELSE Refused(r)
       /\ UNCHANGED <<now, store, wakes, asked, isLate>>

\* Only with Base = "message": the message is the grant, and the deadline counts from its receipt.
Told ==
  \E w \in wakes :
    /\ Calm /\ wakes' = wakes \ {w}
    /\ IF call[w.x].st = "open" /\ bel[w.x[1]].st = "none"
         THEN Believe(w.x[1], now + Ttl, w.tok)
              /\ call' = [call EXCEPT ![w.x] = [st |-> "open", ph |-> "held", out |-> Never, tok |-> w.tok, seen |-> 0]]
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
    /\ call' = [call EXCEPT ![x] = OverOf(x)]
    /\ replies' = {r \in replies : r.x # x \/ r.kind = "direct"}
    /\ IF call[x].ph # "held" THEN Send(Unawaited("back", x, n, 0))
       ELSE IF Disconnect = "release" THEN Send(Unawaited("release", x, n, call[x].tok))
       ELSE UNCHANGED msgs
    /\ UNCHANGED <<now, store, wakes, bel, asked, top, isLate>>

Finish ==
  \E c \in Clients, n \in Nodes :
    /\ Calm /\ bel[c].st = "on" /\ Reachable(n)
    /\ bel' = [bel EXCEPT ![c] = DoneOf(c)]
    /\ Send(Unawaited("release", <<c, 1>>, n, bel[c].tok))
    /\ call' = [x \in CallIds |-> IF x[1] = c /\ call[x].st = "open" THEN OverOf(x) ELSE call[x]]
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

\* An operator revokes the lease without force. An offer ends at once, because no client was told of it.
Revoke ==
  \E n \in Nodes, s \in (IF IsDirect THEN 0..Servers ELSE {0}) :
    /\ Calm /\ Runs(n)
    /\ "revoke" \in left /\ left' = left \ {"revoke"}
    /\ LET d == IF MayGrant(n) THEN Purge(node[n].d) ELSE node[n].d
           e == IF d.l.st = "O" \/ Revokes = "freed" THEN EndedNow(d) ELSE [d EXCEPT !.l.rev = d.l.end]
       IN /\ d.l.st # "free"
          /\ \E f \in Tidy(e, MayGrant(n), s) :
               /\ node' = Written(n, f)
               /\ wakes' = wakes \cup NewWakes(node[n].d, f)
               /\ replies' = replies \cup DirectGrants(node[n].d, f, <<>>, now)
    /\ UNCHANGED <<now, writable, isCut, msgs, call, bel, asked, top, isLate>>

\* Belief ends at the local deadline. A call gives a command up after Timeout. To save states, the model removes
\* commands that can no longer have an effect, and the send time of commands without a waiting caller.
GivesUp(x) == call[x].out # Never /\ now + 1 > call[x].out + Timeout
IsStaleNext(m) == NotAfter /\ now + 1 > m.at + Timeout
IsFutile(m) ==
  IF IsGranting(m) THEN IsStaleNext(m)
  ELSE /\ call[m.x].out # m.at \/ GivesUp(m.x)
       /\ m.tok # 0 /\ ~Resurrect /\ \A n \in Nodes : node[n].d.l.who # m.x[1] \/ node[n].d.l.tok # m.tok
       /\ IsDirect => IsStaleNext(m) /\ \A n \in Nodes : \A b \in node[n].d.back : b.x # m.x
NeedsNoSendTime(m) ==
  ~IsGranting(m) /\ ((GivesUp(m.x) /\ call[m.x].out = m.at) \/ (IsDirect /\ IsStaleNext(m) /\ call[m.x].out # m.at))

\* A waiting call without a place in the queue must ask. In the other phases before a grant a server always has a step.
HasStepDue(x) ==
  /\ Alive(x) /\ bel[x[1]].st # "done" /\ call[x].ph # "held"
  /\ call[x].ph = "wait" => Direct # "no-recheck" /\ \A n \in Nodes : Runs(n) => x \notin node[n].d.q

Tick ==
  /\ Calm /\ now < Horizon
  /\ Prompt => msgs = {} /\ \A x \in CallIds : ~HasStepDue(x)
  /\ now' = now + 1
  /\ bel' = [c \in Clients |-> IF bel[c].st = "on" /\ bel[c].dl <= now + 1 THEN DoneOf(c) ELSE bel[c]]
  /\ msgs' = {IF NeedsNoSendTime(m) THEN [m EXCEPT !.at = Never] ELSE m : m \in {m \in msgs : ~IsFutile(m)}}
  /\ replies' = {r \in replies : r.kind = "direct" \/ ~GivesUp(r.x)}
  /\ call' = [x \in CallIds |->
       IF call[x].st = "open" /\ bel[x[1]].st = "on" /\ bel'[x[1]].st = "done" THEN OverOf(x)
       ELSE IF GivesUp(x) THEN [call[x] EXCEPT !.out = Never] ELSE call[x]]
  /\ UNCHANGED <<store, wakes, asked, top, isLate>>

Next ==
  \/ Run \/ Answered \/ LoseReply \/ LoseDirect \/ BreakConnection \/ Drop \/ Touch \/ Adopt
  \/ Ask \/ Again \/ Told \/ Leave \/ EndCall \/ Finish
  \/ Flush \/ Cut \/ Rise \/ FallBack \/ Revoke \/ Tick

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
Believes(c) == bel[c].st = "on"

Exclusion == \A c, e \in Clients : c # e => ~(Believes(c) /\ Believes(e))
TokensRise == \A c \in Clients : Believes(c) => bel[c].tok > asked[c]
NoResurrection == \A n \in Nodes : node[n].d.l.who \notin node[n].d.ended
NoLateGrant == ~isLate
IsIntact == left \cup {"revoke"} = Faults \cup {"revoke"} /\ ~isCut
\* docs/design/leases.md, rule 9: no command moves the end of a revoked lease.
RevokedStays == \A n \in Nodes : LET l == node[n].d.l IN l.rev # 0 => l.end = l.rev
\* docs/design/invariants.md, 10: without a loss of data no lease in Redis ends before the belief in it.
TruthfulOffset ==
  IsIntact =>
    \A c \in Clients : Believes(c) => node["A"].d.l.who = c /\ bel[c].dl <= node["A"].d.l.end
\* An unclaimed offer blocks others for at most OfferTime. No request is in the queue twice, or beside its own lease.
OffersAreShort ==
  \A n \in Nodes : LET d == node[n].d
                   IN /\ d.l.st = "O" => d.l.end <= now + OfferTime
                      /\ \A c \in Clients : Cardinality(Of(d, c)) + (IF d.l.who = c THEN 1 ELSE 0) <= 1

\* docs/design/invariants.md, 9: no request gets a second token, or REQUEST_FINISHED before any token, without a loss of
\* data.
OneToken ==
  IsIntact =>
    LET l == node["A"].d.l IN l.st = "H" /\ bel[l.who].tok # 0 => l.tok = bel[l.who].tok
FinishedWasTold == IsIntact => \A c \in Clients : bel[c].st = "done" => bel[c].tok # 0
\* docs/design/invariants.md, 13, with prompt servers: a direct grant outlasts its tick only if its call got the grant.
NoDeadGrants ==
  LET l == node["A"].d.l IN Prompt /\ l.st = "H" /\ ~l.claimed /\ l.end < now + Ttl => call[l.a].seen >= l.tok

Symmetry == Permutations(Clients)
=============================================================================
