import type { PermitsProbed, ResidueObserved } from '../history';
import type { Timeline } from './timeline';
import type { Violation } from './violation';

/**
 * `docs/design/invariants.md`, 11: at rest all permits can be acquired, and there are no more keys, map entries, timers
 * and sockets than at the baseline. Fewer are no violation.
 */
export function checkLeak(timeline: Timeline): Violation[] {
  let baseline: ResidueObserved | null = null;
  return timeline.history.flatMap((event) => {
    if (event.type === 'permits_probed') return missingPermits(event);
    if (event.type !== 'residue_observed') return [];
    if (event.when === 'baseline') {
      baseline = event;
      return [];
    }
    return residue(baseline, event);
  });
}

function missingPermits(probe: PermitsProbed): Violation[] {
  if (probe.obtained >= probe.limit) return [];
  const message = `at rest only ${probe.obtained} of ${probe.limit} permits could be acquired`;
  return [{ invariant: 'leak', name: probe.name, message, trace: [probe] }];
}

function residue(baseline: ResidueObserved | null, rest: ResidueObserved): Violation[] {
  const before = new Set(baseline?.keys ?? []);
  const keys = rest.keys.filter((key) => !before.has(key));
  const gauges = Object.entries(rest.gauges).filter(
    ([gauge, value]) => value > (baseline?.gauges[gauge] ?? 0),
  );
  const leaks = [
    ...(keys.length === 0 ? [] : [`${keys.length} keys are left, such as ${keys.slice(0, 3).join(', ')}`]),
    ...gauges.map(([gauge, value]) => `${gauge} is ${value}, and was ${baseline?.gauges[gauge] ?? 0}`),
  ];
  const trace = baseline === null ? [rest] : [baseline, rest];
  return leaks.map((message) => ({ invariant: 'leak', name: null, message, trace }));
}
