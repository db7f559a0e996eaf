import type {
  Asked,
  Cancelled,
  Ended,
  Granted,
  HistoryEvent,
  LetGo,
  Lost,
  Micros,
  Queued,
  Released,
  ReleaseAnswered,
  ReleaseAsked,
  RenewAsked,
  RenewalIgnored,
  Renewed,
} from '../history';
import type { Belief } from './belief';

/** The permits of a lock. An exclusive holder takes all permits. A shared holder takes one permit. */
export const WHOLE_LOCK = 2 ** 30;

/** A call that may get a grant: acquire, hold or attach. */
export interface Call {
  readonly asked: Asked;
  readonly events: HistoryEvent[];
  queued: Queued | null;
  granted: Granted | null;
  ended: Ended | null;
  cancelled: Cancelled | null;
  letGo: LetGo | null;
  /**
   * The instant at which the call ended, or the client cancelled the call, let its lease go or was killed. Infinity if the
   * call is open.
   */
  over: Micros;
  /** The session of the command. Null: a call of its own. */
  readonly session: Session | null;
}

/** A session of a client. */
export interface Session {
  readonly client: string;
  /** The process of the client, which has no other sessions, and the `session_number`. */
  readonly number: number;
  /** The end of the stream, or the end of the client. Infinity if the session is open. */
  over: Micros;
}

/** A request with all calls that have its id. */
export interface Request {
  readonly key: string;
  readonly name: string;
  readonly weight: number;
  readonly calls: Call[];
  readonly grants: Grant[];
}

export interface LeaseCall {
  readonly asked: RenewAsked | ReleaseAsked;
  answer: Renewed | ReleaseAnswered | null;
  ended: Ended | null;
}

/** A lease that was delivered at least once. */
export interface Grant {
  readonly name: string;
  readonly lease: string;
  readonly token: number;
  readonly weight: number;
  readonly requestKey: string;
  /** The first call of the request. Null if the call is not in the history and may be of any earlier time. */
  readonly asked: Asked | null;
  readonly received: Granted;
  /** All deliveries and renewals, in order of receipt. */
  readonly answers: (Granted | Renewed)[];
  readonly calls: Call[];
  readonly renewals: LeaseCall[];
  readonly releases: LeaseCall[];
  readonly ends: (Lost | Released)[];
  /** The attaches to the lease, granted or not. */
  readonly attaches: Call[];
  /** Renewals after the end of the lease for its client. */
  readonly ignored: RenewalIgnored[];
  /** True if an operator freed the permits while the holder may still have believed. */
  forced: boolean;
  /** The time for which a client believed in the grant. Null: the grant arrived after its deadline. */
  belief: Belief | null;
}

/** The instant at which a call without a grant stopped waiting. At the wait_timeout, the server ends the wait. */
export function waitEnd(call: Call): Micros {
  return Math.min(call.over, call.asked.at + (call.asked.waitTimeoutUs ?? Infinity));
}

/** The longest TTL that the lease may have had. */
export function longestTtl(grant: Grant): Micros {
  return Math.max(
    ...grant.answers.map((answer) => answer.ttlUs),
    ...grant.renewals.map(({ asked }) => (asked.type === 'renew_asked' ? (asked.ttlUs ?? 0) : 0)),
  );
}

/**
 * The earliest possible instant of an answer: after its call was sent, and at most a TTL before the end in the answer.
 * The client may have received the answer much later. The heartbeat of a session may be sent after the grant or renewal.
 */
export function madeAfter(grant: Grant, answer: Granted | Renewed | RenewalIgnored): Micros {
  const beforeEnd = answer.t0 + answer.expireOffsetUs - longestTtl(grant);
  return answer.heartbeat === undefined ? Math.max(answer.t0, beforeEnd) : beforeEnd;
}
