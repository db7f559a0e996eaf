import type { Micros } from '../history';
import type { Occupied } from './occupancy';
import type { Timeline } from './timeline';
import type { Call, Request } from './timeline-types';
import type { CheckOptions } from './violation';

/** Final reasons that prove that a request holds nothing. */
const HOLDS_NOTHING = new Set([
  'CONTENDED',
  'INVALID_FIELD',
  'REQUEST_MISMATCH',
  'REQUEST_FINISHED',
  'NO_SUCH_SEMAPHORE',
  'NEVER_FITS',
  'QUEUE_FULL',
  'QUOTA_EXCEEDED',
  'STORE_FULL',
]);

/**
 * Ghosts: permits that may be held by requests without a delivered grant. The client went away at the moment of the
 * grant, or is paused. A ghost needs room: without free permits the request cannot have been granted.
 */
export function ghosts(name: string, timeline: Timeline, options: CheckOptions): Occupied[] {
  const room = new RoomProbe(name, timeline);
  return timeline
    .requestsOf(name)
    .flatMap((request) =>
      request.calls.flatMap((call, index) => [
        ...ghostOfEnded(request, call, request.calls[index + 1], { room, timeline, options }),
        ...ghostOfStopped(request, call, timeline, options),
      ]),
    )
    .concat(ghostsOfOrphans(name, timeline, options));
}

interface GhostContext {
  readonly room: RoomProbe;
  readonly timeline: Timeline;
  readonly options: CheckOptions;
}

function ghostOfEnded(
  request: Request,
  call: Call,
  next: Call | undefined,
  { room, timeline, options }: GhostContext,
): Occupied[] {
  if (call.granted !== null || call.over === Infinity || holdsNothing(call)) return [];
  const from = call.over - options.latencyUs;
  let raceEnd = call.over + options.latencyUs;
  for (const window of timeline.faults) {
    const touches = window.from <= raceEnd && window.shownTo >= from;
    if (touches && window.excuses.has('dead_grant')) raceEnd = Math.max(raceEnd, window.shownTo);
  }
  if (!room.existed(from, raceEnd, request.weight)) return [];
  // A retry of the request finds its own grant, which ends the ghost.
  const found = next === undefined ? Infinity : next.asked.at + options.latencyUs;
  const to = Math.min(raceEnd + call.asked.ttlUs, found);
  return to > from ? [{ from, to, weight: request.weight, grant: null }] : [];
}

function ghostOfStopped(request: Request, call: Call, timeline: Timeline, options: CheckOptions): Occupied[] {
  return stopsOf(call, timeline).map((window) => {
    const noticed = Math.min(call.over, window.from + options.keepAliveUs + options.latencyUs);
    const to = call.granted?.at ?? noticed + call.asked.ttlUs;
    return { from: window.from, to, weight: request.weight, grant: null };
  });
}

/** The time without a script on a name after which the store treats the name as stalled. */
const IDLE: Micros = 2_000_000;

/**
 * Waiters of a dead server, alone in their queue. No script runs on the name, which looks like a stall, and a stall
 * spares waiters. A newcomer then waits until the offer to the dead waiter has lapsed.
 */
function ghostsOfOrphans(name: string, timeline: Timeline, options: CheckOptions): Occupied[] {
  const orphans = timeline.requestsOf(name).filter((request) => isOrphan(request, timeline, options));
  if (orphans.length === 0) return [];
  const calls = [...timeline.callsOf(name)].sort((a, b) => a.asked.at - b.asked.at);
  let busyUntil = -Infinity;
  return calls.flatMap((call) => {
    const { at } = call.asked;
    const idle = at - busyUntil >= IDLE;
    busyUntil = Math.max(busyUntil, at, Math.min(call.granted?.at ?? Infinity, call.over));
    if (!idle) return [];
    const weights = orphans.filter((orphan) => lastOver(orphan) <= at).map((orphan) => orphan.weight);
    if (weights.length === 0) return [];
    const weight = weights.reduce((sum, one) => sum + one, 0);
    return [{ from: at, to: at + options.claimUs + options.latencyUs, weight, grant: null }];
  });
}

/** True if the request's server died and no later call repeated the request. */
function isOrphan(request: Request, timeline: Timeline, options: CheckOptions): boolean {
  const last = request.calls.at(-1);
  if (last === undefined || request.grants.length > 0 || holdsNothing(last)) return false;
  return timeline.faults.some(
    (window) =>
      window.kind === 'server_killed' &&
      window.from <= last.over + options.latencyUs &&
      window.shownTo >= last.over,
  );
}

function lastOver(request: Request): Micros {
  return Math.max(...request.calls.map((call) => call.over));
}

/** The spans in which the client of a waiting call was paused. */
export function stopsOf(call: Call, timeline: Timeline): { from: Micros; to: Micros }[] {
  const until = Math.min(call.granted?.at ?? Infinity, call.over);
  return timeline.faults
    .filter((window) => window.kind === 'client_stopped')
    .filter((window) => window.clients === null || window.clients.has(call.asked.client))
    .filter((window) => window.from <= until && window.to >= call.asked.at);
}

export function holdsNothing(call: Call): boolean {
  if (call.cancelled !== null && call.cancelled.at <= call.over) return false;
  if (call.ended === null || call.ended.at > call.over) return false;
  return call.ended.reason !== null && HOLDS_NOTHING.has(call.ended.reason);
}

/** True if the believed holders left enough room at any instant of a span. */
class RoomProbe {
  private readonly edges: { at: Micros; change: number }[];
  private readonly steps: Micros[];

  constructor(
    name: string,
    private readonly timeline: Timeline,
    private readonly limits = timeline.limitOf(name),
  ) {
    this.edges = timeline.grantsOf(name).flatMap(({ belief, weight }) =>
      belief === null
        ? []
        : [
            { at: belief.from, change: weight },
            { at: belief.to, change: -weight },
          ],
    );
    this.edges.sort((a, b) => a.at - b.at);
    this.steps = limits.steps();
  }

  existed(from: Micros, to: Micros, weight: number): boolean {
    const instants = [from, to, ...this.edges.map((edge) => edge.at), ...this.steps];
    let used = 0;
    let next = 0;
    for (const instant of instants.filter((at) => at >= from && at <= to).sort((a, b) => a - b)) {
      for (let edge = this.edges[next]; edge !== undefined && edge.at <= instant; edge = this.edges[next]) {
        used += edge.change;
        next += 1;
      }
      if (used + weight <= this.limits.highest(instant)) return true;
    }
    return false;
  }
}
