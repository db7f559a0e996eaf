import type { PermitsProbed, ResidueObserved } from '../history';
import type { Timeline } from './timeline';
import type { Violation } from './violation';

/**
 * 11. At rest all permits can be had, and keys, maps, timers and sockets are back where they were. Fewer
 * than at the baseline is no leak: connections close, caches empty.
 */
export function checkLeak(timeline: Timeline): Violation[] {
  let baseline: ResidueObserved | null = null;
  return timeline.history.flatMap((event) => {
    if (event.type === 'permits_probed') return withheld(event);
    if (event.type !== 'residue_observed') return [];
    if (event.when === 'baseline') {
      baseline = event;
      return [];
    }
    return left(baseline, event);
  });
}

function withheld(probe: PermitsProbed): Violation[] {
  if (probe.obtained >= probe.limit) return [];
  const message = `at rest only ${probe.obtained} of ${probe.limit} permits could be had`;
  return [{ invariant: 'leak', name: probe.name, message, trace: [probe] }];
}

function left(baseline: ResidueObserved | null, rest: ResidueObserved): Violation[] {
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
