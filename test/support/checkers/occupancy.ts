import type { Micros } from '../history';
import { longestTtl, type Call, type Grant, type Request, type Timeline } from './timeline';
import type { CheckOptions } from './violation';

/** Permits that somebody may have; `grant` is null for one that was never delivered. */
export interface Occupied {
  readonly from: Micros;
  readonly to: Micros;
  readonly weight: number;
  readonly grant: Grant | null;
}

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
  'NOT_IMPLEMENTED',
]);

/**
 * The latest instant at which the store may still have the lease as held: a certain end that a client was
 * told of, or the last renewal that can have been made, plus the TTL.
 */
export function latestEnd(grant: Grant, timeline: Timeline, options: CheckOptions): Micros {
  return Math.min(
    toldEnd(grant, timeline, options),
    lastRenewal(grant, timeline, options) + longestTtl(grant),
  );
}

function toldEnd(grant: Grant, timeline: Timeline, options: CheckOptions): Micros {
  let end = Infinity;
  for (const { answer } of grant.releases) {
    if (answer?.type === 'release_answered') end = Math.min(end, answer.at);
  }
  for (const event of grant.ends) {
    // A revoked lease keeps its permits to its end; behind a stalled store a renewal may still come to pass.
    const permitsKept = event.type === 'lost' && ['REVOKED', 'STORE_UNAVAILABLE'].includes(event.cause);
    if (!permitsKept && delayedUntil(grant, event.at, timeline, options) === null)
      end = Math.min(end, event.at);
  }
  return end;
}

function lastRenewal(grant: Grant, timeline: Timeline, options: CheckOptions): Micros {
  let last = grant.received.at;
  for (const answer of grant.answers) last = Math.max(last, answer.at);
  for (const call of grant.calls) {
    if (call.asked.rpc !== 'acquire') last = Math.max(last, streamEnd(call, timeline, options));
  }
  for (const { asked, answer, ended } of grant.renewals) {
    const killedAt = (timeline.killed.get(asked.client)?.at ?? Infinity) + options.commandTimeoutUs;
    last = Math.max(last, answer?.at ?? ended?.at ?? killedAt);
  }
  return Math.max(last, delayedUntil(grant, last, timeline, options) ?? 0);
}

/** When the server has certainly noticed that a stream is over, and renews no more. */
function streamEnd(call: Call, timeline: Timeline, options: CheckOptions): Micros {
  let end = call.over;
  for (const window of timeline.faults) {
    if (window.clients !== null && !window.clients.has(call.asked.client)) continue;
    if (window.from > call.over) continue;
    if (window.kind === 'client_stopped' && window.to - window.from > options.keepAliveUs) {
      end = Math.min(end, window.from + options.keepAliveUs + options.latencyUs);
    }
    if (window.kind === 'link_cut' && window.to >= call.asked.at) end += options.keepAliveUs;
  }
  return end;
}

/** The end of a fault that held commands of this lease back, or null where there was none. */
function delayedUntil(grant: Grant, until: Micros, timeline: Timeline, options: CheckOptions): Micros | null {
  const from = grant.asked?.at ?? grant.received.at;
  const ends = timeline.faults
    .filter((window) => window.delays && window.kind !== 'client_stopped')
    .filter((window) => window.from <= until + options.commandTimeoutUs && window.to >= from)
    .filter((window) => window.names === null || window.names.has(grant.name))
    .map((window) => window.to);
  return ends.length === 0 ? null : Math.max(...ends);
}

/** Everything that certainly or possibly takes permits of a name, and until when at the latest. */
export function occupancy(name: string, timeline: Timeline, options: CheckOptions): Occupied[] {
  const held = timeline.grantsOf(name).map((grant) => ({
    from: grant.received.at,
    to: latestEnd(grant, timeline, options),
    weight: grant.weight,
    grant,
  }));
  return [...held, ...ghosts(name, timeline, options)];
}

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
    );
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
