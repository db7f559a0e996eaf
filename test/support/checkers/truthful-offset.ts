import type { ExpiryObserved, HistoryEvent, Micros } from '../history';
import { latestExpiry } from './observed-expiry';
import type { Timeline } from './timeline';
import type { Grant } from './timeline-types';
import type { Violation } from './violation';

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
    return [violation(grant, `a client believed ${late} ms longer than the deadline rule allows`, [answer])];
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
    return [violation(grant, message, [answer, observed])];
  });
}

/** Finds leases that a client believes in and Redis does not have. */
function gone(grant: Grant, observed: ExpiryObserved): Violation[] {
  const { belief } = grant;
  if (belief === null || belief.from > observed.before || belief.to <= observed.at) return [];
  const message = `token ${grant.token} is believed, and Redis does not have it`;
  return [violation(grant, message, [grant.received, observed, belief.endedBy])];
}

function violation(grant: Grant, message: string, trace: readonly HistoryEvent[]): Violation {
  return { invariant: 'truthful_offset', name: grant.name, message, trace };
}
