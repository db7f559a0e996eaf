/** The faults that can be built into the simulated service and its clients, and what each does wrong. */
export const MUTATIONS = {
  no_owner_compare: 'a release frees whoever holds the name',
  resend_without_idempotence: 'a repeated request is a new request',
  pubsub_only_wake_up: 'an offer is seen only if its message arrives',
  no_liveness_check: 'waiters whose client or server is gone are offered permits like any other',
  renew_resurrects: 'renewing an ended lease puts it back',
  counter_only_token: 'tokens are counted and know no clock',
  deadline_from_receipt: 'a client counts the offset from when the answer came',
  permit_leaked_on_cancel: 'a waiter that cancels while it has an offer keeps the permits counted',
  lifo: 'the youngest waiter is served first',
  swallowed_lost: 'a stream whose lease is gone stays open and says nothing',
  double_grant_on_reconnect: 'a held request that comes again gets a new lease',
  lowered_limit_ignored: 'a limit only goes up',
  offer_kept_when_lowered: 'what was offered before the limit was lowered is honoured after it',
  weights_not_counted: 'a lease counts as one permit, however many it takes',
  small_overtakes_head: 'whoever fits is served, though the head of the queue does not',
  reader_beside_writer: 'a shared request fits beside an exclusive holder',
  writer_beside_readers: 'an exclusive request fits beside shared holders',
  renewal_shortens: 'a renewal sets the end even if it was later before',
  stale_stream_releases: 'a stream that breaks releases its lease, whoever has attached to it since',
  late_from_buffer: 'a grant waits in a buffer, and its offset is counted from when it leaves it',
  dead_from_buffer: 'a grant waits in a buffer and is delivered when it has ended',
  newcomer_passes_after_stall: 'after a stall of the store everybody is judged dead at once',
  offset_from_pubsub: 'a grant made by a release is counted from when its message arrived',
  failed_renewal_is_loss: 'a renewal that was not answered is reported as a loss',
  slow_expiry: 'nobody looks when a lease ends, only now and then',
  stream_kept: 'a server never forgets a stream that ended',
  finished_grants_again: 'an ended request is forgotten at once',
} as const;

export type Mutation = keyof typeof MUTATIONS;

/** Asks whether a fault is built in. */
export type IsBroken = (mutation: Mutation) => boolean;
