------------------------------- MODULE Leaving -------------------------------
(* One lease of a session, and a server that stops to answer at any time. Everything else is prompt: messages arrive  *)
(* at once, and each due step happens before the clock goes on. Does the client leave early enough to attach the      *)
(* lease elsewhere before its deadline?                                                                               *)
EXTENDS Integers

CONSTANTS
  Ttl, RenewEvery, BeatEvery,
  Patience,             \* the client leaves when a heartbeat is unanswered for this time
  AttachTime,           \* from the decision to leave to the answer to the attach
  Horizon

VARIABLES
  now,
  stopped,              \* whether the server has stopped
  beat, renew,          \* the times of the next heartbeat and the next renewal
  unanswered,           \* the send time of the oldest unanswered heartbeat; Never: none
  left,                 \* when the client left; Never: not yet
  deadline

vars == <<now, stopped, beat, renew, unanswered, left, deadline>>
Never == Horizon + 1

Init ==
  /\ now = 0 /\ stopped = FALSE /\ unanswered = Never /\ left = Never
  /\ beat \in 1..BeatEvery /\ renew \in 1..RenewEvery
  /\ deadline = renew - RenewEvery + Ttl

Beat ==
  /\ left = Never /\ beat = now
  /\ beat' = now + BeatEvery
  /\ unanswered' = IF stopped /\ unanswered = Never THEN now ELSE unanswered
  /\ UNCHANGED <<now, stopped, renew, left, deadline>>

Renew ==
  /\ ~stopped /\ renew = now
  /\ renew' = now + RenewEvery /\ deadline' = now + Ttl
  /\ UNCHANGED <<now, stopped, beat, unanswered, left>>

Stop ==
  /\ ~stopped /\ stopped' = TRUE
  /\ UNCHANGED <<now, beat, renew, unanswered, left, deadline>>

IsLeaveDue == left = Never /\ now >= unanswered + Patience
Leave ==
  /\ IsLeaveDue /\ left' = now
  /\ UNCHANGED <<now, stopped, beat, renew, unanswered, deadline>>

IsAttached == now >= left + AttachTime
Tick ==
  /\ now < Horizon /\ ~IsAttached /\ ~IsLeaveDue
  /\ left = Never => beat > now
  /\ ~stopped => renew > now
  /\ now' = now + 1
  /\ UNCHANGED <<stopped, beat, renew, unanswered, left, deadline>>

Next == Beat \/ Renew \/ Stop \/ Leave \/ Tick
Spec == Init /\ [][Next]_vars

\* No lease is lost because its server has stopped.
NotLost == now < deadline \/ IsAttached
=============================================================================
