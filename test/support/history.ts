/**
 * A history: the messages that clients sent and received, and the actions of the test, as events on the machine's
 * monotonic clock. The checkers read only the history, and no log or state of a server. In a file each event is one
 * line of JSON.
 */

/** Microseconds on CLOCK_MONOTONIC, which all processes of one machine share. */
export type Micros = number;

export type LossCause = 'EXPIRED' | 'REVOKED' | 'STORE_RESET' | 'STORE_UNAVAILABLE' | 'UNKNOWN';

export type LockMode = 'exclusive' | 'shared';

interface Stamped {
  /** The time, which is read directly before a send, and as the first step of a receipt. */
  readonly at: Micros;
  /** The recorder of the event. `seq` orders its events of equal time. */
  readonly source: string;
  readonly seq: number;
}

interface OfCall extends Stamped {
  /** The client's name. A restarted process is another client. */
  readonly client: string;
  /** Unique in the history. */
  readonly call: string;
}

/** A call that may be granted was sent. `attach` names a lease. The other calls name a request. */
export interface Asked extends OfCall {
  readonly type: 'asked';
  readonly rpc: 'acquire' | 'hold' | 'attach';
  readonly name: string;
  readonly requestId: string | null;
  readonly lease: string | null;
  readonly mode: LockMode;
  readonly permitCount: number;
  readonly ttlUs: Micros;
  /** The `wait_timeout` of the request. Null: the request has no wait_timeout. */
  readonly waitTimeoutUs: Micros | null;
  /** The session of a command. Unset: a call of its own. `hold` is then an acquire command. */
  readonly session?: string;
}

export interface Queued extends OfCall {
  readonly type: 'queued';
  readonly position: number;
}

/** An answer that sets a deadline. `deadline` is the client's own result. */
interface Believed extends OfCall {
  readonly lease: string;
  readonly ttlUs: Micros;
  /** The start of `expireOffsetUs`: the start of the call or of the stream, or the send of `heartbeat`. */
  readonly t0: Micros;
  /** The heartbeat that the response of a session names. Unset: the answer is of no session. */
  readonly heartbeat?: number;
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

/** A renewal of a lease that is over for its client. */
export interface RenewalIgnored extends Believed {
  readonly type: 'renewal_ignored';
  /** True: the grant of an attach. */
  readonly attached?: boolean;
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

/** A stream's last event after a release of its lease. */
export interface Released extends OfCall {
  readonly type: 'released';
  readonly lease: string;
}

export interface Lost extends OfCall {
  readonly type: 'lost';
  readonly lease: string;
  readonly cause: LossCause;
}

/** A lease of a session is over for its client: the deadline has passed, or the release is sent. The call is over too. */
export interface LetGo extends OfCall {
  readonly type: 'let_go';
  readonly lease: string;
  readonly reason: 'deadline' | 'release';
}

/** A call ended with a status, such as code `ABORTED` and reason `CONTENDED`. */
export interface Ended extends OfCall {
  readonly type: 'ended';
  readonly code: string;
  readonly reason: string | null;
}

/** The client cancelled the call. */
export interface Cancelled extends OfCall {
  readonly type: 'cancelled';
}

/** A client opens a session. */
export interface SessionOpened extends Stamped {
  readonly type: 'session_opened';
  readonly client: string;
  readonly session: string;
  /** The `session_number`. */
  readonly number: number;
}

/** The stream of a session ended, or the client closed the stream. */
export interface SessionEnded extends Stamped {
  readonly type: 'session_ended';
  readonly client: string;
  readonly session: string;
  readonly code: string;
  readonly reason: string | null;
}

/** A client received a message that the contract forbids. */
export interface ContractBroken extends Stamped {
  readonly type: 'contract_broken';
  readonly client: string;
  readonly what: string;
}

/** A client is killed by SIGKILL directly after this event. The killer records the event. */
export interface Killed extends Stamped {
  readonly type: 'killed';
  readonly client: string;
}

export const FAULT_KINDS = [
  'server_killed',
  'server_stopped',
  'client_stopped',
  'client_silent',
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
 * A fault begins. Its kind determines what it excuses and explains (`checkers/fault-effects.ts`), unless the event
 * overrides that.
 */
export interface FaultStarted extends Stamped {
  readonly type: 'fault_started';
  readonly fault: string;
  readonly kind: FaultKind;
  readonly what: string;
  /** The affected clients and names. Default: all. */
  readonly clients?: readonly string[];
  readonly names?: readonly string[];
  readonly excuses?: readonly string[];
  readonly explains?: readonly LossCause[];
  /** The time after the fault in which its consequences may still show. */
  readonly graceUs?: Micros;
}

export interface FaultEnded extends Stamped {
  readonly type: 'fault_ended';
  readonly fault: string;
}

/** A limit takes effect between `limit_asked` and `limit_answered`. A name with a limit is a semaphore. */
export interface LimitAsked extends Stamped {
  readonly type: 'limit_asked';
  readonly change: string;
  readonly name: string;
  readonly limit: number;
}

export interface LimitAnswered extends Stamped {
  readonly type: 'limit_answered';
  readonly change: string;
  /** False if the limit was certainly not changed. */
  readonly done: boolean;
}

/** An operator revoked the leases of these tokens, or all leases of the name if `tokens` is null. */
export interface RevokeAsked extends Stamped {
  readonly type: 'revoke_asked';
  readonly name: string;
  readonly tokens: readonly number[] | null;
  readonly force: boolean;
}

/** A revocation without force was answered: this lease is revoked from now on. */
export interface RevokeAnswered extends Stamped {
  readonly type: 'revoke_answered';
  readonly name: string;
  readonly token: number;
}

/** A script read Redis TIME and a lease's end between the monotonic instants `before` and `at`. */
export interface ExpiryObserved extends Stamped {
  readonly type: 'expiry_observed';
  readonly name: string;
  readonly lease: string;
  readonly before: Micros;
  readonly redisTimeUs: Micros;
  /** The end of the lease in Redis. Null: Redis has no held lease with this id. */
  readonly expiryUs: Micros | null;
}

/** The tokens of the holders that the service shows, unclaimed offers included. */
export interface HoldersObserved extends Stamped {
  readonly type: 'holders_observed';
  readonly name: string;
  readonly tokens: readonly number[];
}

/** A count of existing objects: `baseline` before all work, `rest` after the end of all leases. */
export interface ResidueObserved extends Stamped {
  readonly type: 'residue_observed';
  readonly when: 'baseline' | 'rest';
  /** The keys of Redis, without the keys that are kept for a retention time. */
  readonly keys: readonly string[];
  /** Sizes of maps and numbers of timers and sockets, by name. */
  readonly gauges: Readonly<Record<string, number>>;
}

/** At rest, a probe acquired as many permits as possible. */
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
  | RenewalIgnored
  | RenewalFailed
  | ReleaseAsked
  | ReleaseAnswered
  | Released
  | Lost
  | LetGo
  | Ended
  | Cancelled
  | SessionOpened
  | SessionEnded
  | ContractBroken
  | Killed
  | FaultStarted
  | FaultEnded
  | LimitAsked
  | LimitAnswered
  | RevokeAsked
  | RevokeAnswered
  | ExpiryObserved
  | HoldersObserved
  | ResidueObserved
  | PermitsProbed;

type WithoutStamp<Event> = Event extends HistoryEvent ? Omit<Event, keyof Stamped> : never;

/** An event without the fields that the recorder adds. */
export type EventBody = WithoutStamp<HistoryEvent>;

/** All events of a run, in order of time. */
export type History = readonly HistoryEvent[];

/** Orders by time, and by `seq` where one recorder wrote events of equal time. */
export function compareEvents(a: HistoryEvent, b: HistoryEvent): number {
  if (a.at !== b.at) return a.at - b.at;
  if (a.source !== b.source) return a.source < b.source ? -1 : 1;
  return a.seq - b.seq;
}
