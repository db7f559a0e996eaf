import type {
  Asked,
  Cancelled,
  Ended,
  Granted,
  HistoryEvent,
  Lost,
  Micros,
  Queued,
  Released,
  ReleaseAnswered,
  ReleaseAsked,
  RenewAsked,
  Renewed,
} from '../history';
import type { Belief } from './belief';

/** The permits of a lock. An exclusive holder takes all of them, a shared one takes one. */
export const WHOLE_LOCK = 2 ** 30;

/** A call that may bring a grant: acquire, hold, attach. */
export interface Call {
  readonly asked: Asked;
  readonly events: HistoryEvent[];
  queued: Queued | null;
  granted: Granted | null;
  ended: Ended | null;
  cancelled: Cancelled | null;
  /** When the client stopped listening: ended, cancelled or killed. Infinity while the call is open. */
  over: Micros;
}

/** One request with all calls that carried its id. */
export interface Request {
  readonly key: string;
  readonly name: string;
  readonly weight: number;
  readonly calls: Call[];
  readonly grants: Grant[];
}

/** A renew or release call with its answer. */
export interface LeaseCall {
  readonly asked: RenewAsked | ReleaseAsked;
  answer: Renewed | ReleaseAnswered | null;
  ended: Ended | null;
}

/** One lease that was delivered at least once. */
export interface Grant {
  readonly name: string;
  readonly lease: string;
  readonly token: number;
  readonly weight: number;
  readonly requestKey: string;
  /** The first call of the request. null: not in the history, so any time before. */
  readonly asked: Asked | null;
  readonly received: Granted;
  /** All deliveries and renewals, in order of receipt. */
  readonly answers: (Granted | Renewed)[];
  readonly calls: Call[];
  readonly renewals: LeaseCall[];
  readonly releases: LeaseCall[];
  readonly ends: (Lost | Released)[];
  /** Whether an operator freed the permits while the holder may still have believed. */
  forced: boolean;
  /** null: the grant arrived after its deadline, so no client believed in it. */
  belief: Belief | null;
}

/** When a call without a grant stopped waiting: the server removes it from the queue at its wait_timeout. */
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
 * The earliest instant at which an answer can have been made: after its call was sent, and at most a TTL before the end
 * in the answer. The client may have received the answer much later.
 */
export function madeAfter(grant: Grant, answer: Granted | Renewed): Micros {
  return Math.max(answer.t0, answer.t0 + answer.expireOffsetUs - longestTtl(grant));
}
