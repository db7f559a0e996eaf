import type { HolderView, LeaseEnd, LossCause, Mode, Resource, ResourceView, Service } from './lease';

/**
 * The port to the store of leases. Every method is one atomic step on one resource. A step may be repeated with the
 * same request id and attach value. A step rejects with a `StoreFailure` if the store did not answer.
 */
export interface LeaseStore {
  acquire(resource: Resource, wanted: LeaseWanted, how: AcquireOptions): Promise<AcquireReply>;
  /** `ticket`: the place in the queue. The server remembers it, so the place survives if the store loses the queue. */
  claim(resource: Resource, wanted: LeaseWanted, ticket: string): Promise<ClaimReply>;
  withdraw(resource: Resource, command: WithdrawCommand): Promise<WithdrawReply>;
  touch(resource: Resource, waiters: readonly CallRef[]): Promise<TouchReply>;
  renew(resource: Resource, command: RenewCommand): Promise<RenewReply>;
  /**
   * Renews leases of one bucket in one step, each for the stream that speaks for the lease. The reply has one element for each
   * lease. Undefined: the step has not changed this lease, because the lease has ended or needs more than a new end.
   * Then the lease needs a `renew`. The command waits in no caller's queue, because its leases belong to several
   * callers.
   */
  renewMany(leases: readonly LeaseToRenew[], patience: Patience): Promise<readonly (Renewed | undefined)[]>;
  release(resource: Resource, command: ReleaseCommand): Promise<ReleaseReply>;
  inspect(resource: Resource, caller?: object): Promise<ResourceView>;
  /** Reads a resource, and asks for hints to this server when the resource changes. The request for hints lapses soon. */
  watch(resource: Resource): Promise<WatchedView>;
  setLimit(resource: Resource, command: SetLimitCommand): Promise<SetLimitReply>;
  remove(resource: Resource, command: RemoveCommand): Promise<RemoveReply>;
  /**
   * One step of a revocation. Each step visits a bounded number of leases. A repeated step may find fewer leases than
   * the first step has revoked. So the method rejects if the first reply is lost, unless the repeated step is certain
   * to have the same reply.
   */
  revoke(resource: Resource, command: RevokeCommand): Promise<RevokeReply>;
  /** The number of buckets. Each name always belongs to the same bucket. */
  readonly bucketCount: number;
  /** The bucket of a name, from 0 to `bucketCount` - 1. */
  bucketOf(name: string): number;
  /** Examines some names of a bucket, and answers the views of the names that are in use. */
  listViews(step: ListStep): Promise<ListedPart<ResourceView>>;
  /** As `listViews`, with the numbers of waiters only. */
  listWaiterCounts(step: ListStep): Promise<ListedPart<WaiterCount>>;
  /** Sets the receiver of hints. */
  listen(listener: StoreListener): void;
}

/**
 * Receives news from replies of the store and hints from other servers. News may come twice, late or never, so the
 * engine also asks the store for the facts.
 */
export interface StoreListener {
  /** The request's state may have changed: an offer was made, or the request's lease ended. */
  recheck(resource: Resource, requestId: string): void;
  /**
   * A command of this server has freed permits, and the store has granted the permits to a waiting call of this server.
   * The call owns the lease, unless the call has ended meanwhile.
   */
  granted(resource: Resource, call: CallRef, grant: Granted): void;
  /** Something has changed that watches of the resource show. */
  changed(resource: Resource): void;
  /** A reply of the store with news about the resource may be lost. */
  mayHaveMissedNews(resource: Resource): void;
  /** A bounded script has stopped before all its work was done. */
  workLeft(resource: Resource): void;
}

/** The call that speaks for a request. Only a unary renew or release works without its attach value. */
export interface CallRef {
  /** The id under which the store keeps the request (lease-id.ts). */
  readonly requestId: string;
  readonly attach: string;
}

/** Decides the order of commands while the store is busy. */
interface ByCaller {
  /** The connection that asked. The commands of one caller wait behind each other. Undefined: this server's own work. */
  readonly caller?: object | undefined;
}

/** A command that is useful even if it is sent late. */
export interface Patience {
  /**
   * The command may wait unsent until this time while the store answers other commands (ms, monotonic clock). Undefined:
   * only for the time of a command.
   */
  readonly patientUntil?: number | undefined;
}

/** What a request wants from the store. Built once for the request, and sent with its acquire and each of its claims. */
export interface LeaseWanted extends CallRef, ByCaller {
  /** The request id that the client has sent, or that the server has made for the client. */
  readonly clientRequestId: string;
  /** The identity that the client has proven. Empty: none. */
  readonly identity: string;
  /** An acquire that cannot be sent before this time fails as overloaded (ms, monotonic clock). Undefined: only the bound of redis/window.ts. */
  readonly sendBefore?: number | undefined;
  /** The new lease's secret. A request that the store knows keeps its first secret. */
  readonly secret: string;
  readonly permits: number;
  readonly mode: Mode;
  readonly holderId: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly ttlMs: number;
  /** The limit of a resource that does not exist yet. Undefined: the resource must exist. */
  readonly initialLimit: number | undefined;
}

export interface AcquireOptions {
  /** True: join the queue if the permits cannot be granted immediately. */
  readonly wait: boolean;
  /** True (a stream or a session): take over and renew a lease that the request holds. False: only report such a lease. */
  readonly takeOver: boolean;
  readonly maxWaiters: number;
}

export interface WithdrawCommand extends CallRef, ByCaller, Patience {
  /** True: return a grant that was not reported to the caller. False: keep a grant, and claim an offer. */
  readonly giveBack: boolean;
  /**
   * With `giveBack`: return only the grant with this token, because the call continues to wait. The lease of this grant
   * may have ended. Undefined: return any grant.
   */
  readonly fencingToken?: bigint | undefined;
  /** With `giveBack`: return only a direct grant that no command of the call was answered with. */
  readonly onlyUnheard?: boolean;
}

/** The right to renew and release a lease. */
export interface LeaseProof {
  readonly requestId: string;
  readonly secret: string;
  /** The identity that the caller has proven. Empty: none. The lease obeys only the identity of its holder. */
  readonly identity: string;
}

export interface RenewCommand extends LeaseProof, ByCaller, Patience {
  /** The new ttl (ms). Undefined: the lease keeps its ttl. */
  readonly ttlMs: number | undefined;
  /** Replaces the metadata of the holder. Undefined: the metadata stays. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /**
   * The renewal of a stream or a session works only while it speaks for the lease, or if it takes the lease over.
   */
  readonly stream: { readonly attach: string; readonly takeOver: boolean } | undefined;
}

/** A held lease, as its stream or session renews it. */
export interface LeaseToRenew extends LeaseProof, CallRef {
  readonly resource: Resource;
}

export interface Renewed extends LeaseEnd {
  readonly ttlMs: number;
}

export interface ReleaseCommand extends LeaseProof, ByCaller {
  /** Set by a stream that has reported the lease as lost. A renewal without a reply may have prolonged the lease. */
  readonly afterLoss: { readonly attach: string } | undefined;
}

export interface SetLimitCommand {
  /** `pause`: 0, and the store keeps the limit in force. `resume`: the kept limit, or the limit in force without a pause. */
  readonly limit: number | 'pause' | 'resume';
  /** Nothing changes if the current limit differs from this limit. Undefined: the limit always changes. */
  readonly expectedLimit: number | undefined;
}

export interface RemoveCommand {
  /** True: delete the semaphore even if there are holders or waiters. */
  readonly force: boolean;
}

/** The leases or the waiter that an operator revokes. */
export type RevokeTarget =
  | { readonly kind: 'token'; readonly fencingToken: bigint }
  /** The lease of this request with this token. Found in one step, unlike a token alone. */
  | { readonly kind: 'lease'; readonly requestId: string; readonly fencingToken: bigint }
  /** All leases that are held at the first step. */
  | { readonly kind: 'all-holders' }
  /** The waiter with this enqueue time, at most 64 places away from this position. */
  | { readonly kind: 'waiter'; readonly position: number; readonly enqueueTimeUs: bigint };

export interface RevokeCommand extends ByCaller {
  readonly target: RevokeTarget;
  /** True: the permits are free now. False: a revoked lease keeps its permits to its end. A waiter has no permits. */
  readonly force: boolean;
  /** Where the step before has stopped. Undefined: the first step. */
  readonly after: RevokeCursor | undefined;
}

export interface RevokeCursor {
  /** Leases with a higher token were granted after the first step. */
  readonly lastToken: string;
  /** Leases are visited in several passes (lease-revoke.lua). */
  readonly pass: string;
  /** The last visited lease of the pass, by its end (us) and its request id. Empty request id: the next pass begins. */
  readonly endUs: string;
  readonly requestId: string;
}

/**
 * One bounded step of a list: the names of a bucket after `after`, in the order of their bytes. Locks are in use if they have
 * a holder or a waiter. Semaphores are in use until they are deleted or forgotten.
 */
export interface ListStep extends ByCaller {
  readonly service: Service;
  /** From 0 to `bucketCount` - 1. */
  readonly bucket: number;
  /** Empty: from the first name of the bucket. */
  readonly after: string;
  /** Only names with this prefix. */
  readonly namePrefix: string;
  /**
   * Only names with a holder or a waiter of this label, among the holders and waiters that a view shows. Empty: all.
   */
  readonly holderId: string;
  /** As `holderId`, for the proven identity. With both, one holder or waiter has both. */
  readonly identity: string;
  /** The largest number of names in the answer, at least 1. */
  readonly mostShown: number;
}

export interface ListedPart<Item> {
  readonly items: readonly Item[];
  /** The last name that the step has examined. Empty: the bucket has no more names. */
  readonly last: string;
  readonly examinedCount: number;
}

export interface WaiterCount {
  readonly name: string;
  readonly waiterCount: number;
}

interface Answered {
  /** Monotonic time just before the command of this reply was sent (ms). The lease's offset counts from this time. */
  readonly sentAt: number;
}

/** The lease's offset counts from `sentAt`. */
export interface Granted extends LeaseEnd {
  readonly kind: 'granted';
  readonly fencingToken: bigint;
  readonly ttlMs: number;
  readonly secret: string;
  readonly permits: number;
  /** The request id that the client has sent. Undefined: `requestId` is this id, or the reply is a direct grant. */
  readonly clientRequestId?: string | undefined;
}

export interface Waiting extends Answered {
  readonly kind: 'waiting';
  readonly ticket: string;
  readonly position: number;
  readonly snapshot: QueueSnapshot;
}

/** The state of a resource, for errors and events. */
export interface QueueSnapshot {
  /** Time until the earliest end of a lease or an offer; undefined: there is none. */
  readonly earliestEndMs: number | undefined;
  readonly waiterCount: number;
  readonly holder: HolderView | undefined;
  /** Time until the end of `holder`'s lease. */
  readonly holderEndMs: number | undefined;
  /** The limit in force. Undefined: the resource does not exist. */
  readonly limit: number | undefined;
  /** Permits held or offered. */
  readonly usedCount: number;
}

/** The state of a resource for watches. */
export interface WatchedView {
  readonly view: ResourceView;
  /** Time until the earliest end of a shown lease or offer; undefined: there is none. */
  readonly earliestEndMs: number | undefined;
}

/** Another call speaks for the request: a newer call, or a later session of the same client process. */
export interface Superseded {
  readonly kind: 'superseded';
}
/** The request's lease has ended, and the store remembers why. 'released' is no loss. */
export interface Finished {
  readonly kind: 'finished';
  readonly cause: LossCause | 'released';
  /**
   * The token of the ended lease if only the asking call was answered with the lease. If this call has not reported the
   * lease to its caller, the call returns the grant, and the request has not finished. Undefined: any other end.
   */
  readonly returnable?: bigint | undefined;
}
export interface NeverFits {
  readonly kind: 'never-fits';
  readonly limit: number;
}
/** The semaphore does not exist, and the request has no limit for a new semaphore. */
export interface UnknownResource {
  readonly kind: 'unknown-resource';
}

export type AcquireReply =
  | Granted
  | Waiting
  | { readonly kind: 'refused'; readonly snapshot: QueueSnapshot }
  | { readonly kind: 'mismatch'; readonly field: 'mode' | 'permit_count' | 'holder_id' }
  | { readonly kind: 'queue-full'; readonly waiterCount: number }
  | Superseded
  | Finished
  | NeverFits
  | UnknownResource;

export type ClaimReply = Granted | Waiting | Superseded | Finished | NeverFits | UnknownResource;

export type WithdrawReply =
  | Granted
  /** `ticket`: the place of the request. Undefined: the store does not know the request. */
  | {
      readonly kind: 'withdrawn';
      readonly snapshot: QueueSnapshot;
      readonly ticket?: string | undefined;
    }
  /** Not given back, because the lease was reported to another call. */
  | { readonly kind: 'kept' }
  | Superseded
  | Finished;

export interface TouchReply {
  readonly snapshot: QueueSnapshot;
  /** One element for each waiter of the touch: its position, 'recheck' (the waiter must claim) or 'superseded'. */
  readonly waiters: readonly (number | 'recheck' | 'superseded')[];
}

export type RenewReply = Granted | Finished | Superseded | { readonly kind: 'gone' };

export type SetLimitReply =
  | { readonly kind: 'set'; readonly view: ResourceView }
  | { readonly kind: 'limit-mismatch'; readonly limit: number }
  /** A pause, or its end, of a semaphore with the limit 0 and without a kept limit. */
  | { readonly kind: 'no-kept-limit' }
  | UnknownResource;

export type RemoveReply =
  | { readonly kind: 'removed' }
  | { readonly kind: 'in-use'; readonly holderCount: number; readonly waiterCount: number }
  | UnknownResource;

export type RevokeReply =
  | {
      readonly kind: 'revoked';
      /** The number of leases and waiters that this step found. They are revoked now. */
      readonly count: number;
      /** The latest end of these leases, by the store's clock (ms). Undefined: none of them keeps permits. */
      readonly latestEndMs: number | undefined;
      /** Where the next step continues. Undefined: the revocation is done. */
      readonly next: RevokeCursor | undefined;
    }
  | UnknownResource;

export type ReleaseReply = { readonly kind: 'released' } | Finished | Superseded | { readonly kind: 'gone' };
