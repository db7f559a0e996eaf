/** The mutations of the simulated service and its clients, each with its wrong behaviour. */
export const MUTATIONS = {
  no_owner_compare: 'a release with an ended lease frees the current holder of the name',
  resend_without_idempotence: 'a repeated request counts as a new request',
  pubsub_only_wake_up: 'a server ignores offers in the replies to its touches',
  no_liveness_check: 'waiters of dead clients and dead servers are offered permits',
  renew_resurrects: 'a renewal of an ended lease recreates the lease',
  counter_only_token: 'the fencing token is a counter without the time',
  deadline_from_receipt: 'a client counts the offset from the receipt of the answer',
  permit_leaked_on_cancel: 'the permits of an offer stay taken after its waiter cancels',
  lifo: 'the newest waiter is granted first',
  swallowed_lost: 'a stream stays open without LOST after its lease has ended',
  double_grant_on_reconnect: 'a repeated request that already holds a lease gets another lease',
  lowered_limit_ignored: 'the lowering of a limit has no effect',
  offer_kept_when_lowered: 'an offer stays valid after the limit is lowered',
  weights_not_counted: 'every lease counts as one permit',
  small_overtakes_head: 'a waiter that fits is granted before the head of the queue',
  reader_beside_writer: 'a shared request is granted beside an exclusive holder',
  writer_beside_readers: 'an exclusive request is granted beside shared holders',
  renewal_shortens: 'a renewal may set an earlier end',
  stale_stream_releases: 'a broken stream releases its lease, even after another stream attached to it',
  late_from_buffer: 'a grant waits in a buffer, and its offset counts from the end of that wait',
  dead_from_buffer: 'a grant waits in a buffer until after its deadline, and is delivered then',
  newcomer_passes_after_stall: 'waiters count as dead directly after a stall of the store',
  offset_from_pubsub: 'the offset of a grant counts from the arrival of the pub/sub message',
  failed_renewal_is_loss: 'an unanswered renewal is reported as LOST',
  slow_expiry: 'a server notices the end of a lease seconds later',
  stream_kept: 'a server keeps ended streams in memory',
  finished_grants_again: 'an ended request id is not remembered',
} as const;

export type Mutation = keyof typeof MUTATIONS;

/** Tells whether a mutation is active. */
export type IsBroken = (mutation: Mutation) => boolean;
