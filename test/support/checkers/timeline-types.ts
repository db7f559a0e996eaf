import type {
  Asked,
  Cancelled,
  Ended,
  Granted,
  HistoryEvent,
  Killed,
  LetGo,
  Lost,
  Micros,
  Queued,
  ReleaseAnswered,
  ReleaseAsked,
  Released,
  RenewalIgnored,
  RenewAsked,
  Renewed,
} from '../history';

/**
 * The span in which a client may act as the holder: from the first receipt of the grant to the first of release sent,
 * LOST received, local deadline and SIGKILL. The latest deadline counts. If several clients attached to the lease, the
 * span ends when the last of them stops. See `docs/design/invariants.md`. LOST with the cause REVOKED does not end the span:
 * without force nobody else may be granted before the deadline (docs/design/leases.md, rule 9).
 */
interface Belief {
  readonly from: Micros;
  readonly to: Micros;
  /** The event that ended the belief. For a deadline: the answer that set the deadline. */
  readonly endedBy: HistoryEvent;
  readonly cause: 'release' | 'lost' | 'deadline' | 'killed';
}

/** A grant that a client believed in and that no operator revoked by force. */
export type Believed = Grant & { readonly belief: Belief };

export function isBelieved(grant: Grant): grant is Believed {
  return grant.belief !== null && !grant.forced;
}

type Answer = Granted | Renewed;
type End = Pick<Belief, 'to' | 'endedBy' | 'cause'>;

export function beliefOf(grant: Grant, killed: ReadonlyMap<string, Killed>): Belief | null {
  const alive = grant.answers.filter((answer) => answer.deadline > answer.at);
  const first = alive[0];
  if (first === undefined) return null;
  const ends = [...new Set(alive.map((answer) => answer.client))].map((client) =>
    beliefEnd(grant, client, alive, killed.get(client)),
  );
  let last = ends.reduce((latest, end) => (end.to > latest.to ? end : latest));
  const release = grant.releases[0]?.asked;
  if (release !== undefined && release.at < last.to) {
    last = { to: release.at, endedBy: release, cause: 'release' };
  }
  return last.to > first.at ? { from: first.at, ...last } : null;
}

function beliefEnd(grant: Grant, client: string, alive: readonly Answer[], killed: Killed | undefined): End {
  const lost = grant.ends.find((end): end is Lost => end.client === client && end.type === 'lost');
  const heard = alive.filter(
    (answer) => answer.client === client && (lost === undefined || answer.at < lost.at),
  );
  let end: End = { to: 0, endedBy: grant.received, cause: 'deadline' };
  for (const answer of heard) {
    if (answer.deadline > end.to) end = { to: answer.deadline, endedBy: answer, cause: 'deadline' };
  }
  if (lost !== undefined && lost.cause !== 'REVOKED' && lost.at < end.to)
    end = { to: lost.at, endedBy: lost, cause: 'lost' };
  if (killed !== undefined && killed.at < end.to) end = { to: killed.at, endedBy: killed, cause: 'killed' };
  return end;
}

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
