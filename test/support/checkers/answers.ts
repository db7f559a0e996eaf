import type { ExpiryObserved, HistoryEvent, Micros } from '../history';
import { erases } from './fault-effects';
import { latestExpiry } from './occupancy';
import type { Timeline } from './timeline';
import { type Grant, isBelieved, madeAfter, type Request, WHOLE_LOCK } from './timeline-types';
import type { CheckOptions, Violation } from './violation';

/** The tolerance for offsets and clocks, which are rounded to whole microseconds in several places. */
const ROUNDING: Micros = 1_000;

/**
 * `docs/design/invariants.md`, 10: t0 + expire_offset is never later than the expiry in Redis, and no client believes
 * longer than min(t0 + expire_offset, receipt + ttl).
 */
export function checkTruthfulOffset(timeline: Timeline): Violation[] {
  return timeline.grants.flatMap((grant) => [
    ...ownDeadlines(grant),
    ...(timeline.observations.get(grant.lease) ?? []).flatMap((seen) => compare(grant, seen, timeline)),
  ]);
}

function ownDeadlines(grant: Grant): Violation[] {
  return grant.answers.flatMap((answer) => {
    const rule = Math.min(answer.t0 + answer.expireOffsetUs, answer.at + answer.ttlUs);
    if (answer.deadline <= rule + ROUNDING) return [];
    const late = (answer.deadline - rule) / 1000;
    return [
      untruthfulOffset(grant, `a client believed ${late} ms longer than the deadline rule allows`, [answer]),
    ];
  });
}

/**
 * Compares the promised ends with an end observed in Redis. The end in Redis never decreases, so no answer received
 * before the observation may promise more.
 */
function compare(grant: Grant, observed: ExpiryObserved, timeline: Timeline): Violation[] {
  const excused = timeline.forgot('truthful_offset', grant, observed.at);
  if (excused || grant.forced) return [];
  const answers = grant.answers.filter((answer) => answer.at < observed.before);
  if (observed.expiryUs === null) return gone(grant, observed);
  const expiry = latestExpiry(observed, observed.expiryUs) + ROUNDING;
  return answers.flatMap((answer) => {
    const promised = answer.t0 + answer.expireOffsetUs;
    if (promised <= expiry) return [];
    const message = `token ${grant.token} was promised ${(promised - expiry) / 1000} ms past its end in Redis`;
    return [untruthfulOffset(grant, message, [answer, observed])];
  });
}

/** Finds leases that a client believes in and Redis does not have. */
function gone(grant: Grant, observed: ExpiryObserved): Violation[] {
  const { belief } = grant;
  if (belief === null || belief.from > observed.before || belief.to <= observed.at) return [];
  const message = `token ${grant.token} is believed, and Redis does not have it`;
  return [untruthfulOffset(grant, message, [grant.received, observed, belief.endedBy])];
}

function untruthfulOffset(grant: Grant, message: string, trace: readonly HistoryEvent[]): Violation {
  return { invariant: 'truthful_offset', name: grant.name, message, trace };
}

/**
 * `docs/design/invariants.md`, 9: a request_id gets at most one token, and a finished one gets no grant while it is
 * remembered.
 */
export function checkIdempotence(timeline: Timeline, options: CheckOptions): Violation[] {
  return [...timeline.requests.values()].flatMap((request) => [
    ...secondGrants(request, timeline, options),
    ...grantsAfterEnd(request, timeline, options),
  ]);
}

function secondGrants(request: Request, timeline: Timeline, options: CheckOptions): Violation[] {
  const [first, ...others] = [...request.grants].sort((a, b) => a.received.at - b.received.at);
  if (first === undefined) return [];
  return others.flatMap((other) => {
    if (timeline.forgot('idempotence', first, other.received.at)) return [];
    // After the retention of an ended request, its id counts as new.
    const end = toldEnd(first);
    if (end !== null && other.received.at > end.at + options.rememberedUs) return [];
    const message = `one request got token ${first.token} and token ${other.token}`;
    return [secondGrant(request, message, [first.received, other.received])];
  });
}

/** Finds grants to calls that were sent after the end of the request's lease. */
function grantsAfterEnd(request: Request, timeline: Timeline, options: CheckOptions): Violation[] {
  return request.grants.flatMap((grant) => {
    const end = toldEnd(grant);
    if (end === null) return [];
    return request.calls.flatMap((call) => {
      const { granted, asked } = call;
      if (granted === null || asked.at <= end.at) return [];
      if (granted.at > end.at + options.rememberedUs) return [];
      if (timeline.forgot('idempotence', grant, granted.at)) return [];
      const message = `a request was granted again after its lease with token ${grant.token} had ended`;
      return [secondGrant(request, message, [grant.received, end.event, asked, granted])];
    });
  });
}

function toldEnd(grant: Grant): { at: Micros; event: HistoryEvent } | null {
  const events: HistoryEvent[] = [...grant.ends];
  for (const { answer, ended } of [...grant.releases, ...grant.renewals]) {
    if (answer?.type === 'release_answered') events.push(answer);
    if (ended?.reason === 'LEASE_NOT_HELD') events.push(ended);
  }
  const certain = events.filter((event) => event.type !== 'lost' || event.cause === 'STORE_RESET');
  const [first] = certain.sort((a, b) => a.at - b.at);
  return first === undefined ? null : { at: first.at, event: first };
}

function secondGrant(request: Request, message: string, trace: readonly HistoryEvent[]): Violation {
  return { invariant: 'idempotence', name: request.name, message, trace };
}

/** An event that proves the end of a lease. From `at` on, the lease must not exist again. */
interface ProvenEnd {
  readonly at: Micros;
  readonly by: HistoryEvent;
  /** A repeated release may answer `released` again. */
  readonly released: boolean;
}

/**
 * `docs/design/invariants.md`, 8: renewing an ended lease never recreates it, and a stale release frees no other lease. Also
 * docs/design/leases.md, rule 9: a revoked lease is never renewed.
 */
export function checkResurrection(timeline: Timeline): Violation[] {
  return timeline.names().flatMap((name) => {
    const grants = [...timeline.grantsOf(name)].sort((a, b) => a.token - b.token);
    const revoked = grants.flatMap((grant) => renewedAfterRevocation(grant, timeline));
    const ended = grants.flatMap((grant, index) => {
      const end = provenEnd(grant, timeline.isLock(name) ? grants[index + 1] : undefined, timeline);
      if (end === null) return [];
      return [...renewedAfter(grant, end), ...releasedAfter(grant, end)];
    });
    return [...revoked, ...ended];
  });
}

function provenEnd(grant: Grant, next: Grant | undefined, timeline: Timeline): ProvenEnd | null {
  const ends: ProvenEnd[] = [];
  for (const { answer } of grant.releases) {
    if (answer?.type === 'release_answered') {
      ends.push({ at: answer.at, by: answer, released: answer.released });
    }
  }
  for (const end of grant.ends) {
    // REVOKED and STORE_UNAVAILABLE prove nothing. The permits stay in use, or the lease still exists in the store.
    if (end.type === 'released') ends.push({ at: end.at, by: end, released: true });
    else if (end.cause === 'STORE_RESET') ends.push({ at: end.at, by: end, released: false });
  }
  if (next !== undefined && isBelieved(next) && (grant.weight === WHOLE_LOCK || next.weight === WHOLE_LOCK)) {
    const at = next.received.at;
    const asked = grant.releases.some((release) => release.asked.at <= at);
    ends.push({ at, by: next.received, released: asked });
  }
  for (const window of timeline.faults) {
    if (erases(window, grant.name) && grant.received.at < window.from) {
      ends.push({ at: window.to, by: window.started, released: false });
    }
  }
  return ends.reduce<ProvenEnd | null>(
    (first, end) => (first === null || end.at < first.at ? end : first),
    null,
  );
}

/** Finds answers that were certainly made after the proven end. */
function renewedAfter(grant: Grant, end: ProvenEnd): Violation[] {
  return [...grant.answers, ...grant.ignored].flatMap((answer) => {
    if (answer === grant.received || madeAfter(grant, answer) <= end.at) return [];
    const message = `token ${grant.token} was renewed after its certain end`;
    return [resurrection(grant, message, [grant.received, end.by, answer])];
  });
}

/** Finds answers that were certainly made after the lease was revoked. A store that has lost writes may have lost the mark. */
function renewedAfterRevocation(grant: Grant, timeline: Timeline): Violation[] {
  const revocation = timeline.history.find(
    (event) => event.type === 'revoke_answered' && event.name === grant.name && event.token === grant.token,
  );
  if (revocation === undefined) return [];
  if (timeline.mayHaveUndone(grant.name, revocation.at, Infinity)) return [];
  return [...grant.answers, ...grant.ignored].flatMap((answer) => {
    if (answer === grant.received || madeAfter(grant, answer) <= revocation.at) return [];
    const message = `token ${grant.token} was renewed after its revocation`;
    return [resurrection(grant, message, [grant.received, revocation, answer])];
  });
}

function releasedAfter(grant: Grant, end: ProvenEnd): Violation[] {
  if (end.released) return [];
  return grant.releases.flatMap(({ asked, answer }) => {
    if (asked.at <= end.at || answer?.type !== 'release_answered' || !answer.released) return [];
    const message = `a stale release of token ${grant.token} was answered as released`;
    return [resurrection(grant, message, [grant.received, end.by, asked, answer])];
  });
}

function resurrection(grant: Grant, message: string, trace: readonly HistoryEvent[]): Violation {
  return { invariant: 'resurrection', name: grant.name, message, trace };
}
