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
  // Those whose belief goes on; of exclusive grants that is one at most, where all is right.
  let going: Believed[] = [];
  for (const grant of believed) {
    const { from } = grant.belief;
    going = going.filter((other) => other.belief.to > from && !timeline.forgot('exclusion', other, from));
    const exclusive = grant.weight === WHOLE_LOCK;
    const rival = going.find((other) => exclusive || other.weight === WHOLE_LOCK);
    if (rival !== undefined) violations.push(overlap(rival, grant));
    going.push(grant);
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
