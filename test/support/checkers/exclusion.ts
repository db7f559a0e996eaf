import { isBelieved, type Believed } from './belief';
import { WHOLE_LOCK, type Timeline } from './timeline';
import type { Violation } from './violation';

/** 1. Two grants of one lock are never believed at the same time, unless both are shared. */
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
  // Whoever is believed the longest meets every later grant that any of the earlier ones meets.
  let longest: Believed | null = null;
  let longestExclusive: Believed | null = null;
  for (const grant of believed) {
    const exclusive = grant.weight === WHOLE_LOCK;
    const rival: Believed | null = exclusive ? longest : longestExclusive;
    if (
      rival !== null &&
      rival.belief.to > grant.belief.from &&
      !timeline.forgot('exclusion', rival, grant.belief.from)
    ) {
      violations.push(overlap(rival, grant));
    }
    if (longest === null || grant.belief.to > longest.belief.to) longest = grant;
    if (exclusive && (longestExclusive === null || grant.belief.to > longestExclusive.belief.to)) {
      longestExclusive = grant;
    }
  }
  return violations;
}

function overlap(first: Believed, second: Believed): Violation {
  return {
    invariant: 'exclusion',
    name: first.name,
    message:
      `token ${second.token} was received while token ${first.token} was believed, ` +
      `${(first.belief.to - second.belief.from) / 1000} ms before its belief ended by ${first.belief.cause}`,
    trace: [first.received, second.received, first.belief.endedBy],
  };
}
