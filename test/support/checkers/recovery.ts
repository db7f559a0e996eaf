import type { HistoryEvent, Micros, PermitsProbed, ResidueObserved } from '../history';
import type { FaultWindow } from './fault-effects';
import { type Starvation, starvations } from './starvation';
import type { Timeline } from './timeline';
import type { Grant } from './timeline-types';
import type { CheckOptions, Violation } from './violation';

/**
 * `docs/design/invariants.md`, 12: after the crash of a holder the next grant comes within the remaining TTL plus 250
 * ms, and for a silent stream plus the keep-alive interval and timeout. After the crash of a server with waiters it
 * comes within a few seconds. An end that was observed in Redis counts as the end of the TTL.
 */
export function checkRecovery(timeline: Timeline, options: CheckOptions): Violation[] {
  return timeline.names().flatMap((name) => {
    const disturbs = (window: FaultWindow) => window.excuses.has('recovery');
    const found = starvations(name, timeline, options, disturbs);
    return found.flatMap((starvation) => [
      ...afterHolder(starvation, timeline, options),
      ...afterServer(starvation, timeline, options),
    ]);
  });
}

function afterHolder(starvation: Starvation, timeline: Timeline, options: CheckOptions): Violation[] {
  const holder = starvation.freedBy?.grant ?? null;
  if (holder === null) return [];
  const crash = crashOf(holder, timeline);
  if (crash === null || serverCrash(starvation, timeline) !== null) return [];
  const delay = starvation.to - starvation.from;
  if (delay <= options.recoveryUs + options.latencyUs) return [];
  const message =
    `${starvation.waiter.asked.client} was not granted within ${delay / 1000} ms ` +
    `after the end of a crashed holder's lease (token ${holder.token})`;
  return [violation(starvation, message, [holder.received, crash])];
}

/** The crash of a holder, which was killed or was paused past its deadline. */
function crashOf(holder: Grant, timeline: Timeline): HistoryEvent | null {
  const { belief } = holder;
  if (belief === null) return null;
  if (belief.cause === 'killed') return belief.endedBy;
  if (belief.cause !== 'deadline') return null;
  const stop = timeline.faults.find(
    (window) =>
      window.kind === 'client_stopped' &&
      window.clients?.has(holder.received.client) === true &&
      window.from <= belief.to &&
      window.to >= belief.to,
  );
  return stop?.started ?? null;
}

function afterServer(starvation: Starvation, timeline: Timeline, options: CheckOptions): Violation[] {
  const crash = serverCrash(starvation, timeline);
  if (crash === null) return [];
  const delay = starvation.to - Math.max(starvation.from, crash.from);
  if (delay <= options.serverRecoveryUs) return [];
  const message =
    `${starvation.waiter.asked.client} waited beside enough free permits ` +
    `for ${delay / 1000} ms after the death of a server`;
  return [violation(starvation, message, [crash.started])];
}

/** The last server that died within a second before the starvation or during it. */
function serverCrash({ from, to }: Starvation, timeline: Timeline): FaultWindow | null {
  const before: Micros = 1_000_000;
  const crashes = timeline.faults.filter(
    (window) => window.kind === 'server_killed' && window.from >= from - before && window.from <= to,
  );
  return crashes.at(-1) ?? null;
}

function violation({ waiter }: Starvation, message: string, cause: readonly HistoryEvent[]): Violation {
  const granted = waiter.granted === null ? [] : [waiter.granted];
  return {
    invariant: 'recovery',
    name: waiter.asked.name,
    message,
    trace: [...cause, waiter.asked, ...granted],
  };
}

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
