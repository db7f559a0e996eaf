import type { HistoryEvent, Micros } from '../history';
import { isBelieved } from './belief';
import { erases } from './fault-effects';
import type { Timeline } from './timeline';
import { madeAfter, WHOLE_LOCK, type Grant } from './timeline-types';
import type { Violation } from './violation';

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
    return [violation(grant, message, [grant.received, end.by, answer])];
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
    return [violation(grant, message, [grant.received, revocation, answer])];
  });
}

function releasedAfter(grant: Grant, end: ProvenEnd): Violation[] {
  if (end.released) return [];
  return grant.releases.flatMap(({ asked, answer }) => {
    if (asked.at <= end.at || answer?.type !== 'release_answered' || !answer.released) return [];
    const message = `a stale release of token ${grant.token} was answered as released`;
    return [violation(grant, message, [grant.received, end.by, asked, answer])];
  });
}

function violation(grant: Grant, message: string, trace: readonly HistoryEvent[]): Violation {
  return { invariant: 'resurrection', name: grant.name, message, trace };
}
