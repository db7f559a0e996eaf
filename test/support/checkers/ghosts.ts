import type { Micros } from '../history';
import type { Occupied } from './occupancy';
import type { Call, Request, Timeline } from './timeline';
import type { CheckOptions } from './violation';

/** Reasons that say for certain that the request holds nothing when they are the last word on it. */
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
 * Permits of requests that nobody was told of: granted in the moment in which their client went away, or
 * granted to a client that is stopped. A ghost needs room: where the believed holders left none, the
 * request can't have been granted before the server knew that its client is gone.
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
  // A repetition of the same request finds its own grant, so from there on nothing is hidden.
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

/** How long a name must have been left alone to look to the store as if the store had stalled. */
const IDLE: Micros = 2_000_000;

/**
 * A waiter whose server died is alone in its queue: nobody runs a script there, which looks like a stall.
 * Whoever comes after such a pause waits until the dead one's offer has lapsed.
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

/** Nobody came back for it after its server had died. */
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

/** The times during which the client of a waiting call was stopped. */
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

/** Answers whether the believed holders ever left enough room within a span of time. */
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
