import type { Timeline } from './timeline';
import type { Grant } from './timeline-types';
import type { Violation } from './violation';

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
