import type { HistoryEvent, Micros } from '../history';
import { isBelieved, type Believed } from './belief';
import type { Timeline } from './timeline';
import type { Violation } from './violation';

/**
 * 2. No grant makes the believed weights exceed the limit then in force.
 *
 * Tokens say in which order the grants were made. A grant was made at some instant after it and all before
 * it were asked for, and before it and all after it were received. At that instant whoever was granted
 * before and believes to this instant or longer had its permits: there must be one at which all of them
 * and the new one fit into the highest limit that can have been in force.
 */
export function checkOverIssue(timeline: Timeline): Violation[] {
  return timeline
    .names()
    .filter((name) => !timeline.isLock(name))
    .flatMap((name) => overIssues(name, timeline));
}

function overIssues(name: string, timeline: Timeline): Violation[] {
  const grants = timeline.grantsOf(name).filter(isBelieved);
  grants.sort((a, b) => a.token - b.token || a.belief.from - b.belief.from);
  const windows = grantWindows(grants);
  const ends = new EndWeights(grants.map((grant) => grant.belief.to));
  const limits = timeline.limitOf(name);
  const steps = limits.steps();
  const violations: Violation[] = [];
  grants.forEach((grant, index) => {
    const [from, to] = windows[index] ?? [grant.belief.from, grant.belief.from];
    const instants = [to, ...steps.filter((step) => step >= from && step < to)];
    const fits = instants.some((at) => ends.after(at) + grant.weight <= limits.highest(at));
    if (!fits) {
      const before = grants
        .slice(0, index)
        .filter((other) => other.belief.to > to && !timeline.forgot('over_issue', other, to));
      if (weightOf(before) + grant.weight > limits.highest(to)) {
        violations.push(overIssue(grant, before, limits.highest(to)));
      }
    }
    ends.add(grant.belief.to, grant.weight);
  });
  return violations;
}

/** For each grant, in token order, the span in which it was made. */
function grantWindows(grants: readonly Believed[]): [Micros, Micros][] {
  const windows: [Micros, Micros][] = grants.map((grant) => [
    grant.asked?.at ?? -Infinity,
    grant.belief.from,
  ]);
  let asked = -Infinity;
  for (const window of windows) {
    asked = Math.max(asked, window[0]);
    window[0] = asked;
  }
  let received = Infinity;
  for (const window of windows.reverse()) {
    received = Math.min(received, window[1]);
    window[1] = received;
  }
  windows.reverse();
  // Tokens out of order leave an empty span; the fencing checker reports that, here its receipt counts.
  return windows.map(([from, to], index) =>
    from <= to ? [from, to] : [to, grants[index]?.belief.from ?? to],
  );
}

function weightOf(grants: readonly Believed[]): number {
  return grants.reduce((sum, grant) => sum + grant.weight, 0);
}

function overIssue(grant: Believed, others: readonly Believed[], limit: number): Violation {
  const trace: HistoryEvent[] = [...others.map((other) => other.received), grant.received];
  return {
    invariant: 'over_issue',
    name: grant.name,
    message:
      `token ${grant.token} took ${grant.weight} while ${weightOf(others)} were believed ` +
      `and the limit was at most ${limit}`,
    trace: trace.slice(-6),
  };
}

/** Sums the weights of beliefs that end after an instant, in logarithmic time (a Fenwick tree). */
class EndWeights {
  private readonly ends: Micros[];
  private readonly tree: number[];

  constructor(ends: readonly Micros[]) {
    this.ends = [...new Set(ends)].sort((a, b) => b - a);
    this.tree = new Array<number>(this.ends.length + 1).fill(0);
  }

  add(end: Micros, weight: number): void {
    for (let i = this.countAfter(end) + 1; i < this.tree.length; i += i & -i) {
      this.tree[i] = (this.tree[i] ?? 0) + weight;
    }
  }

  after(at: Micros): number {
    let sum = 0;
    for (let i = this.countAfter(at); i > 0; i -= i & -i) sum += this.tree[i] ?? 0;
    return sum;
  }

  /** How many of the ends, latest first, lie after the instant. */
  private countAfter(at: Micros): number {
    let low = 0;
    let high = this.ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.ends[middle] ?? -Infinity) > at) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
