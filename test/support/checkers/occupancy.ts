import type { Micros } from '../history';
import { ghosts } from './ghosts';
import { latestExpiry } from './observed-expiry';
import type { Timeline } from './timeline';
import { longestTtl, type Call, type Grant, type Session } from './timeline-types';
import type { CheckOptions } from './violation';

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
