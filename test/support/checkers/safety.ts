import type { HistoryEvent, Micros } from '../history';
import { concerns } from './fault-effects';
import type { Timeline } from './timeline';
import { type Believed, type Grant, isBelieved, madeAfter, WHOLE_LOCK } from './timeline-types';
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

/**
 * `docs/design/invariants.md`, 2: no grant makes the believed weights exceed the limit in force.
 *
 * Each grant is checked in two orders, by claim and by token. There must be an instant of its span at which the grant
 * and the earlier grants that are still believed fit into the highest limit possible then.
 */
export function checkOverIssue(timeline: Timeline): Violation[] {
  return timeline
    .names()
    .filter((name) => !timeline.isLock(name))
    .flatMap((name) => {
      const grants = timeline.grantsOf(name).filter(isBelieved);
      const found = new Map([
        ...sweep(claims(grants, timeline), timeline),
        ...sweep(tokens(grants), timeline),
      ]);
      return [...found.values()];
    });
}

/** Grants to check, ordered so that the set of earlier grants only grows. */
interface Ordering {
  readonly order: readonly Believed[];
  /** The number of grants in `order` that precede the grant, and the span in which the grant was made. */
  readonly checks: readonly { grant: Believed; earlier: number; span: readonly [Micros, Micros] }[];
}

/**
 * Orders by token, which is the order in which permits were taken. A grant was made after the requests of all lower
 * tokens, and before the receipts of all higher tokens.
 */
function tokens(grants: readonly Believed[]): Ordering {
  const order = [...grants].sort((a, b) => a.token - b.token || a.belief.from - b.belief.from);
  const windows = grantWindows(order);
  const checks = order.map((grant, index) => ({
    grant,
    earlier: index,
    span: windows[index] ?? ([grant.belief.from, grant.belief.from] as const),
  }));
  return { order, checks };
}

/**
 * Orders by claim, because an offer must not be claimed after its limit is lowered. A lease lives for its TTL from its
 * claim, so the end in the answer bounds the claim from below. Grants received before that bound are earlier.
 */
function claims(grants: readonly Believed[], timeline: Timeline): Ordering {
  const order = [...grants].sort((a, b) => a.belief.from - b.belief.from);
  const claimed = grants
    .filter((grant) => isOnce(grant, timeline))
    .map((grant) => ({ grant, from: madeAfter(grant, grant.received) }))
    .sort((a, b) => a.from - b.from);
  let earlier = 0;
  const checks = claimed.map(({ grant, from }) => {
    while ((order[earlier]?.belief.from ?? Infinity) < from) earlier += 1;
    return { grant, earlier, span: [from, grant.belief.from] as const };
  });
  return { order, checks };
}

/** The violations, by token. */
function sweep({ order, checks }: Ordering, timeline: Timeline): Map<number, Violation> {
  const ends = new EndWeights(order.map((grant) => grant.belief.to));
  const found = new Map<number, Violation>();
  let added = 0;
  for (const { grant, earlier, span } of checks) {
    for (const { belief, weight } of order.slice(added, earlier)) ends.add(belief.to, weight);
    added = earlier;
    const [from, to] = span;
    const limits = timeline.limitOf(grant.name);
    const instants = [to, ...limits.steps().filter((step) => step >= from && step < to)];
    if (instants.some((at) => ends.after(at) + grant.weight <= limits.highest(at))) continue;
    const others = order
      .slice(0, earlier)
      .filter((other) => other.belief.to > to && !timeline.forgot('over_issue', other, to));
    if (weightOf(others) + grant.weight <= limits.highest(to)) continue;
    found.set(grant.token, overIssue(grant, others, limits.highest(to)));
  }
  return found;
}

/**
 * True if the answer is certainly the answer of the only claim: the request had one call, and no fault during the call.
 */
function isOnce(grant: Believed, timeline: Timeline): boolean {
  const { asked, name, received } = grant;
  if (asked === null) return false;
  const calls = timeline.requests.get(grant.requestKey)?.calls ?? [];
  const isAlone = calls.every((call) => call.asked.call === asked.call || call.asked.at > received.at);
  return (
    isAlone &&
    !timeline.faults.some(
      (window) => window.from <= received.at && window.shownTo >= asked.at && concerns(window, { name }),
    )
  );
}

/** The spans in which the grants were made, in token order. */
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
  // Tokens out of order give an empty span. The fencing checker reports such tokens, so this checker uses the receipt.
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

  /** The number of ends after the instant. */
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

/**
 * `docs/design/invariants.md`, 3: fencing tokens are unique per name and rise with real time. A token that was received
 * before another request was sent is smaller than the token of that request. No fault excuses a violation.
 */
export function checkFencing(timeline: Timeline): Violation[] {
  return timeline.names().flatMap((name) => {
    const grants = timeline.grantsOf(name);
    return [...repeated(grants), ...changed(grants), ...goneBack(grants)];
  });
}

function repeated(grants: readonly Grant[]): Violation[] {
  const byToken = new Map<number, Grant>();
  return grants.flatMap((grant) => {
    const other = byToken.get(grant.token);
    byToken.set(grant.token, grant);
    if (other === undefined) return [];
    return [violation(`token ${grant.token} was given to two leases`, other, grant)];
  });
}

function changed(grants: readonly Grant[]): Violation[] {
  const byLease = new Map<string, Grant>();
  return grants.flatMap((grant) => {
    const other = byLease.get(grant.lease);
    byLease.set(grant.lease, grant);
    if (other === undefined) return [];
    return [violation(`one lease came with token ${other.token} and then ${grant.token}`, other, grant)];
  });
}

function goneBack(grants: readonly Grant[]): Violation[] {
  const received = [...grants].sort((a, b) => a.received.at - b.received.at);
  const violations: Violation[] = [];
  let highest: Grant | null = null;
  let next = 0;
  for (const grant of [...grants].sort((a, b) => askedAt(a) - askedAt(b))) {
    for (let seen = received[next]; seen !== undefined; seen = received[next]) {
      if (seen.received.at >= askedAt(grant)) break;
      if (highest === null || seen.token > highest.token) highest = seen;
      next += 1;
    }
    if (highest !== null && highest !== grant && highest.token > grant.token) {
      const message = `token ${grant.token} was requested after token ${highest.token} had been received`;
      violations.push(violation(message, highest, grant));
    }
  }
  return violations;
}

function askedAt(grant: Grant): number {
  return grant.asked?.at ?? -Infinity;
}

function violation(message: string, first: Grant, second: Grant): Violation {
  const asked = second.asked === null ? [] : [second.asked];
  return {
    invariant: 'fencing',
    name: second.name,
    message,
    trace: [first.received, ...asked, second.received],
  };
}
