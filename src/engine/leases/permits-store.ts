import type { HolderView, LossCause, Mode, Resource, ResourceView } from './lease';

/**
 * The port to the store. Every method is one atomic step on one resource and may be repeated with the same
 * request id and attach. Each rejects with a `StoreFailure` when it was not answered.
 */
export interface PermitsStore {
  acquire(resource: Resource, command: AcquireCommand): Promise<AcquireReply>;
  claim(resource: Resource, command: ClaimCommand): Promise<ClaimReply>;
  withdraw(resource: Resource, command: WithdrawCommand): Promise<WithdrawReply>;
  touch(resource: Resource, waiters: readonly CallRef[]): Promise<TouchReply>;
  renew(resource: Resource, command: RenewCommand): Promise<RenewReply>;
  release(resource: Resource, command: ReleaseCommand): Promise<ReleaseReply>;
  inspect(resource: Resource): Promise<ResourceView>;
  setLimit(resource: Resource, command: SetLimitCommand): Promise<SetLimitReply>;
  remove(resource: Resource, command: RemoveCommand): Promise<RemoveReply>;
  /** Sets who hears of requests to look at again, and of work that a bounded step left over. */
  listen(listener: StoreListener): void;
}

/**
 * News from the store, from a reply or from another server. All of it is a hint: it may come twice, late,
 * or never, and what it says is found out by asking.
 */
export interface StoreListener {
  recheck(resource: Resource, requestId: string): void;
  more(resource: Resource): void;
}

/** The call that speaks for a request: everything but a holder's own renew and release needs both. */
export interface CallRef {
  readonly requestId: string;
  readonly attach: string;
}

/** What is asked for; the same for acquire and claim. */
export interface PermitsWanted extends CallRef {
  /** The new lease's secret; a request already known keeps its own. */
  readonly secret: string;
  readonly permits: number;
  readonly mode: Mode;
  readonly holderId: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly ttlMs: number;
  /** The limit a resource gets that does not exist yet; undefined: it must exist. */
  readonly initialLimit: number | undefined;
}

export interface AcquireCommand extends PermitsWanted {
  /** Take a place in the queue if it cannot be granted at once. */
  readonly wait: boolean;
  /** A stream: a held lease is taken over and renewed. Else it is only shown. */
  readonly takeOver: boolean;
  readonly maxWaiters: number;
}

export interface ClaimCommand extends PermitsWanted {
  /** The place, as the store gave it: it survives a queue that the store has lost. */
  readonly ticket: string;
}

export interface WithdrawCommand extends CallRef {
  /** The caller is gone: a grant it was not told of goes back. Else a grant is taken after all. */
  readonly giveBack: boolean;
  /** Given back is this grant and no later one: the call goes on to wait. Undefined: all that the call may have. */
  readonly fencingToken?: bigint | undefined;
}

export interface RenewCommand {
  readonly requestId: string;
  readonly secret: string;
  /** Undefined: as granted. */
  readonly ttlMs: number | undefined;
  /** A stream's renewal acts only while the stream speaks for the lease, or takes it over. */
  readonly stream: { readonly attach: string; readonly takeOver: boolean } | undefined;
}

export interface ReleaseCommand {
  readonly requestId: string;
  readonly secret: string;
  /** Set by a stream that has told its holder of the loss: ends what an unanswered renewal may have left. */
  readonly afterLoss: { readonly attach: string } | undefined;
}

export interface SetLimitCommand {
  readonly limit: number;
  /** Change nothing unless this is in force; undefined: whatever it is. */
  readonly expectedLimit: number | undefined;
}

export interface RemoveCommand {
  /** Also while somebody holds or waits. */
  readonly force: boolean;
}

/** Monotonic time (ms) read just before the command was sent whose reply this is: the base of its offset. */
interface Answered {
  readonly sentAt: number;
}

export interface Granted extends Answered {
  readonly kind: 'granted';
  readonly fencingToken: bigint;
  readonly remainingMs: number;
  readonly ttlMs: number;
  readonly secret: string;
  readonly permits: number;
}

export interface Waiting extends Answered {
  readonly kind: 'waiting';
  readonly ticket: string;
  readonly position: number;
  readonly snapshot: QueueSnapshot;
}

/** What a waiter may expect. */
export interface QueueSnapshot {
  /** Until the earliest end of a lease or an offer; undefined: there is none. */
  readonly earliestEndMs: number | undefined;
  readonly waiterCount: number;
  readonly holder: HolderView | undefined;
  /** Until `holder`'s lease ends. */
  readonly holderEndMs: number | undefined;
  /** Undefined: the resource does not exist. */
  readonly limit: number | undefined;
  /** Permits held or just being handed over. */
  readonly usedCount: number;
}

export interface Superseded {
  readonly kind: 'superseded';
}
/** The request's lease has ended and is remembered. 'released' is no loss. */
export interface Finished {
  readonly kind: 'finished';
  readonly cause: LossCause | 'released';
}
export interface NeverFits {
  readonly kind: 'never-fits';
  readonly limit: number;
}
/** A semaphore that does not exist, and the request does not create it. */
export interface UnknownResource {
  readonly kind: 'unknown-resource';
}

export type AcquireReply =
  | Granted
  | Waiting
  | { readonly kind: 'refused'; readonly snapshot: QueueSnapshot }
  | { readonly kind: 'mismatch'; readonly field: 'mode' | 'permit_count' | 'holder_id' }
  | { readonly kind: 'queue-full'; readonly waiterCount: number }
  | Finished
  | NeverFits
  | UnknownResource;

export type ClaimReply = Granted | Waiting | Superseded | Finished | NeverFits | UnknownResource;

export type WithdrawReply =
  | Granted
  | { readonly kind: 'withdrawn'; readonly snapshot: QueueSnapshot }
  /** Too late to give back: another call was answered with the lease. */
  | { readonly kind: 'kept' }
  | Superseded
  | Finished;

export interface TouchReply {
  readonly snapshot: QueueSnapshot;
  /** For each waiter asked after: its position, or that it should claim, or that another call took it over. */
  readonly waiters: readonly (number | 'recheck' | 'superseded')[];
}

export type RenewReply = Granted | Finished | Superseded | { readonly kind: 'gone' };

export type SetLimitReply =
  | { readonly kind: 'set'; readonly view: ResourceView }
  | { readonly kind: 'limit-mismatch'; readonly limit: number }
  | UnknownResource;

export type RemoveReply =
  | { readonly kind: 'removed' }
  | { readonly kind: 'in-use'; readonly holderCount: number; readonly waiterCount: number }
  | UnknownResource;

export type ReleaseReply = { readonly kind: 'released' } | Finished | Superseded | { readonly kind: 'gone' };
