import { starvations } from './starvation';
import type { Timeline } from './timeline';
import type { CheckOptions, Violation } from './violation';

/**
 * `docs/design/invariants.md`, 5: without a fault, a live waiter never waits for longer than a second while its
 * resource is free.
 */
export function checkLostWakeUp(timeline: Timeline, options: CheckOptions): Violation[] {
  const disturbs = (window: { excuses: ReadonlySet<string> }) => window.excuses.has('lost_wake_up');
  return timeline.names().flatMap((name) =>
    starvations(name, timeline, options, disturbs)
      .filter(({ from, to }) => to - from > options.wakeUpUs + options.latencyUs)
      .map(({ from, to, waiter, freedBy }): Violation => ({
        invariant: 'lost_wake_up',
        name,
        message:
          `${waiter.asked.client} waited for ${(to - from) / 1000} ms beside enough free permits, ` +
          `from ${from} to ${to}`,
        trace: [
          ...(freedBy?.grant ? [freedBy.grant.belief?.endedBy ?? freedBy.grant.received] : []),
          waiter.asked,
          ...(waiter.queued === null ? [] : [waiter.queued]),
          ...(waiter.granted === null ? [] : [waiter.granted]),
        ],
      })),
  );
}
