/**
 * What clients saw and what the test did to them, as one list of events on the machine's monotonic clock.
 * Checkers read nothing else: no log, no state of a server. Every event is one line of JSON in a file.
 */

/** Microseconds on CLOCK_MONOTONIC, which all processes of one machine share. */
export type Micros = number;

export type LossCause = 'EXPIRED' | 'REVOKED' | 'STORE_RESET' | 'STORE_UNAVAILABLE' | 'UNKNOWN';

export type LockMode = 'exclusive' | 'shared';

interface Stamped {
  /** For something sent: read before it was sent. For something received: read first of all on receipt. */
  readonly at: Micros;
  /** Which recorder wrote it; `seq` orders the events of one recorder that carry the same time. */
  readonly source: string;
  readonly seq: number;
}

interface OfCall extends Stamped {
  /** A process. One that is started again is another client, since a killed one is dead for good. */
  readonly client: string;
  /** Unique in the whole history. */
  readonly call: string;
}

/** Sent by a call that may bring a grant: `attach` names a lease, the others a request. */
export interface Asked extends OfCall {
  readonly type: 'asked';
  readonly rpc: 'acquire' | 'hold' | 'attach';
  readonly name: string;
  readonly requestId: string | null;
  readonly lease: string | null;
  readonly mode: LockMode;
  readonly permitCount: number;
  readonly ttlUs: Micros;
  /** null: as long as the call lasts. */
  readonly waitTimeoutUs: Micros | null;
}

export interface Queued extends OfCall {
  readonly type: 'queued';
  readonly position: number;
}

/** What every answer that moves a deadline says; `deadline` is what this client made of it. */
interface Believed extends OfCall {
  readonly lease: string;
  readonly ttlUs: Micros;
  /** When the call was sent that `expireOffsetUs` is counted from: for a stream the call that opened it. */
  readonly t0: Micros;
  readonly expireOffsetUs: Micros;
  readonly deadline: Micros;
}

export interface Granted extends Believed {
  readonly type: 'granted';
  readonly name: string;
  readonly requestId: string;
  readonly token: number;
  readonly permitCount: number;
}

export interface RenewAsked extends OfCall {
  readonly type: 'renew_asked';
  readonly lease: string;
  readonly ttlUs: Micros | null;
}

export interface Renewed extends Believed {
  readonly type: 'renewed';
}

export interface RenewalFailed extends OfCall {
  readonly type: 'renewal_failed';
  readonly lease: string;
  readonly cause: LossCause;
}

export interface ReleaseAsked extends OfCall {
  readonly type: 'release_asked';
  readonly lease: string;
}

export interface ReleaseAnswered extends OfCall {
  readonly type: 'release_answered';
  readonly lease: string;
  readonly released: boolean;
  readonly lossCause: LossCause | null;
}

/** The stream's last word on a lease that was released by its id. */
export interface Released extends OfCall {
  readonly type: 'released';
  readonly lease: string;
}

export interface Lost extends OfCall {
  readonly type: 'lost';
  readonly lease: string;
  readonly cause: LossCause;
}

/** The status of a call, by its names: code `ABORTED`, reason `CONTENDED`. */
export interface Ended extends OfCall {
  readonly type: 'ended';
  readonly code: string;
  readonly reason: string | null;
}

/** The client gave the call up. */
export interface Cancelled extends OfCall {
  readonly type: 'cancelled';
}

/** SIGKILL of a client, written by the killer just before it kills. */
export interface Killed extends Stamped {
  readonly type: 'killed';
  readonly client: string;
}

export const FAULT_KINDS = [
  'server_killed',
  'server_stopped',
  'client_stopped',
  'redis_stopped',
  'redis_restarted',
  'redis_lost_writes',
  'redis_flushed',
  'redis_deleted',
  'scripts_flushed',
  'connections_killed',
  'reply_dropped',
  'link_cut',
  'link_slow',
  'store_full',
  'store_refusing',
  'draining',
  'clock_jumped',
  'machine_stalled',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/**
 * A fault begins. What it excuses and explains follows from its kind (`checkers/fault-effects.ts`);
 * a test that knows better says so here.
 */
export interface FaultStarted extends Stamped {
  readonly type: 'fault_started';
  readonly fault: string;
  readonly kind: FaultKind;
  readonly what: string;
  /** Only these clients or names feel it; left out: all. */
  readonly clients?: readonly string[];
  readonly names?: readonly string[];
  readonly excuses?: readonly string[];
  readonly explains?: readonly LossCause[];
  /** How long after its end its consequences may still show. */
  readonly graceUs?: Micros;
}

export interface FaultEnded extends Stamped {
  readonly type: 'fault_ended';
  readonly fault: string;
}

/** A limit is in force from some instant between these two on. A name with a limit is a semaphore. */
export interface LimitAsked extends Stamped {
  readonly type: 'limit_asked';
  readonly change: string;
  readonly name: string;
  readonly limit: number;
}

export interface LimitAnswered extends Stamped {
  readonly type: 'limit_answered';
  readonly change: string;
  /** false: certainly not carried out. */
  readonly done: boolean;
}

/** An operator took these tokens' leases, or everybody's (null). */
export interface RevokeAsked extends Stamped {
  readonly type: 'revoke_asked';
  readonly name: string;
  readonly tokens: readonly number[] | null;
  readonly force: boolean;
}

/** One script read Redis TIME and a lease's end between the monotonic instants `before` and `at`. */
export interface ExpiryObserved extends Stamped {
  readonly type: 'expiry_observed';
  readonly name: string;
  readonly lease: string;
  readonly before: Micros;
  readonly redisTimeUs: Micros;
  /** null: Redis does not know the lease as held. */
  readonly expiryUs: Micros | null;
}

/** Whom the service itself shows as holding a name, offers that nobody claimed yet included. */
export interface HoldersObserved extends Stamped {
  readonly type: 'holders_observed';
  readonly name: string;
  readonly tokens: readonly number[];
}

/** What is there: `baseline` before any work, `rest` once all of it ended at least TTL + 1 s ago. */
export interface ResidueObserved extends Stamped {
  readonly type: 'residue_observed';
  readonly when: 'baseline' | 'rest';
  /** Keys of Redis, without those that are kept on purpose for a retention time. */
  readonly keys: readonly string[];
  /** Sizes of maps, numbers of timers and sockets, by any name. */
  readonly gauges: Readonly<Record<string, number>>;
}

/** At rest somebody took all the permits that could be had. */
export interface PermitsProbed extends Stamped {
  readonly type: 'permits_probed';
  readonly name: string;
  readonly limit: number;
  readonly obtained: number;
}

export type HistoryEvent =
  | Asked
  | Queued
  | Granted
  | RenewAsked
  | Renewed
  | RenewalFailed
  | ReleaseAsked
  | ReleaseAnswered
  | Released
  | Lost
  | Ended
  | Cancelled
  | Killed
  | FaultStarted
  | FaultEnded
  | LimitAsked
  | LimitAnswered
  | RevokeAsked
  | ExpiryObserved
  | HoldersObserved
  | ResidueObserved
  | PermitsProbed;

type WithoutStamp<Event> = Event extends HistoryEvent ? Omit<Event, keyof Stamped> : never;

/** An event as its writer gives it; the recorder adds when, who and in which order. */
export type EventBody = WithoutStamp<HistoryEvent>;

/** All events of a run, in the order of time. */
export type History = readonly HistoryEvent[];

/** By time; events of one recorder with the same time stay in the order they were written. */
export function compareEvents(a: HistoryEvent, b: HistoryEvent): number {
  if (a.at !== b.at) return a.at - b.at;
  if (a.source !== b.source) return a.source < b.source ? -1 : 1;
  return a.seq - b.seq;
}
