import { isBelieved, type Believed } from './belief';
import type { Timeline } from './timeline';
import { WHOLE_LOCK } from './timeline-types';
import type { Violation } from './violation';

/**
 * `docs/design/invariants.md`, 1: two grants of one lock are never believed at the same time, unless both are shared.
 */
export function checkExclusion(timeline: Timeline): Violation[] {
  return timeline
    .names()
    .filter((name) => timeline.isLock(name))
    .flatMap((name) => overlaps(name, timeline));
}

function overlaps(name: string, timeline: Timeline): Violation[] {
  const believed = timeline.grantsOf(name).filter(isBelieved);
  believed.sort((a, b) => a.belief.from - b.belief.from || a.token - b.token);
  const violations: Violation[] = [];
  // The grants in which a client still believes.
  let current: Believed[] = [];
  for (const grant of believed) {
    const { from } = grant.belief;
    current = current.filter((other) => other.belief.to > from && !timeline.forgot('exclusion', other, from));
    const exclusive = grant.weight === WHOLE_LOCK;
    const rival = current.find((other) => exclusive || other.weight === WHOLE_LOCK);
    if (rival !== undefined) violations.push(overlap(rival, grant));
    current.push(grant);
  }
  return violations;
}

function overlap(first: Believed, second: Believed): Violation {
  return {
    invariant: 'exclusion',
    name: first.name,
    message:
      `token ${second.token} was received while token ${first.token} was believed, ` +
      `${(first.belief.to - second.belief.from) / 1000} ms before that belief ended (${first.belief.cause})`,
    trace: [first.received, second.received, first.belief.endedBy],
  };
}
