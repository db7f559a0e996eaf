import type { ExpiryObserved, Micros } from '../history';
import type { Timeline } from './timeline';
import { type Call, type Grant, longestTtl, type Request, type Session } from './timeline-types';
import type { CheckOptions } from './violation';

/** The assumed bound on the difference of clock rates. */
const RATE = 0.0005;

/**
 * The latest instant, on this machine's clock, of an end in Redis. Redis read its time between the two clock readings
 * of the observation, so the distance between the readings is the uncertainty.
 */
export function latestExpiry(observed: ExpiryObserved, expiryUs: Micros): Micros {
  const remaining = expiryUs - observed.redisTimeUs;
  return observed.at + remaining + Math.abs(remaining) * RATE;
}

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

/** Permits that may be in use. `grant` is null if no grant was delivered. */
export interface Occupied {
  readonly from: Micros;
  readonly to: Micros;
  readonly weight: number;
  readonly grant: Grant | null;
}

/**
 * The latest instant at which the store may still keep the lease: the earliest of the end that a client was told, the
 * end that Redis showed, and the last possible renewal plus the TTL.
 */
function latestEnd(grant: Grant, timeline: Timeline, options: CheckOptions): Micros {
  return Math.min(
    toldEnd(grant, timeline, options),
    lastRenewal(grant, timeline, options) + longestTtl(grant),
    observedEnd(grant, timeline, options),
  );
}

/** The end that Redis showed after the death of every client that could have renewed the lease. */
function observedEnd(grant: Grant, timeline: Timeline, options: CheckOptions): Micros {
  const deaths = grant.calls.map((call) => timeline.killed.get(call.asked.client)?.at ?? Infinity);
  const settled = Math.max(...deaths) + options.latencyUs;
  const seen = timeline.observations.get(grant.lease)?.find((observation) => observation.before >= settled);
  if (seen === undefined || delayedUntil(grant, seen.at, timeline, options) !== null) return Infinity;
  return seen.expiryUs === null ? seen.at : latestExpiry(seen, seen.expiryUs);
}

function toldEnd(grant: Grant, timeline: Timeline, options: CheckOptions): Micros {
  let end = Infinity;
  for (const { answer } of grant.releases) {
    if (answer?.type === 'release_answered') end = Math.min(end, answer.at);
  }
  for (const event of grant.ends) {
    // A revoked lease keeps its permits to its end. A delayed renewal may still run in a stalled store.
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
    if (call.session !== null) last = Math.max(last, sessionEnd(call.session, grant, timeline, options));
    else if (call.asked.rpc !== 'acquire') last = Math.max(last, streamEnd(call, timeline, options));
  }
  for (const { asked, answer, ended } of grant.renewals) {
    const killedAt = (timeline.killed.get(asked.client)?.at ?? Infinity) + options.commandTimeoutUs;
    last = Math.max(last, answer?.at ?? ended?.at ?? killedAt);
  }
  return Math.max(last, delayedUntil(grant, last, timeline, options) ?? 0);
}

/** The instant by which the server has certainly detected the end of a stream and stopped its renewals. */
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

/**
 * The instant by which the server has certainly stopped the renewals of a session. The end of a lease for its client stops
 * nothing: its release does, and the answer to that release tells the end.
 */
function sessionEnd(session: Session, grant: Grant, timeline: Timeline, options: CheckOptions): Micros {
  const silence = longestTtl(grant) + options.latencyUs;
  let end = session.over;
  for (const { kind, clients, from, to } of timeline.faults) {
    if (clients !== null && !clients.has(session.client)) continue;
    const isSilent = kind === 'client_stopped' || kind === 'client_silent';
    if (isSilent && from <= session.over && to - from > silence) end = Math.min(end, from + silence);
    if (kind === 'link_cut' && from <= session.over && to >= grant.received.at)
      end = Math.max(end, session.over + silence);
  }
  return end;
}

/** The end of the last fault that delayed commands about this lease, or null. */
function delayedUntil(grant: Grant, until: Micros, timeline: Timeline, options: CheckOptions): Micros | null {
  const from = grant.asked?.at ?? grant.received.at;
  const ends = timeline.faults
    .filter((window) => window.delays && window.kind !== 'client_stopped')
    .filter((window) => window.from <= until + options.commandTimeoutUs && window.to >= from)
    .filter((window) => window.names === null || window.names.has(grant.name))
    .map((window) => window.to);
  return ends.length === 0 ? null : Math.max(...ends);
}

/** All leases and requests that use or may use permits of a name, each up to its latest possible end. */
export function occupancy(name: string, timeline: Timeline, options: CheckOptions): Occupied[] {
  const held = timeline.grantsOf(name).map((grant) => ({
    from: grant.received.at,
    to: latestEnd(grant, timeline, options),
    weight: grant.weight,
    grant,
  }));
  return [...held, ...ghosts(name, timeline, options)];
}
