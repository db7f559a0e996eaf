import type { Micros } from '../history';
import { waitEnd, WHOLE_LOCK, type Call, type Grant, type Request, type Timeline } from './timeline';
import type { CheckOptions, Violation } from './violation';

/** A waiter with a place: known to be queued at `queuedAt`, and alive from `aliveFrom` to its grant or end. */
interface Place {
  readonly call: Call;
  readonly queuedAt: Micros;
  readonly aliveFrom: Micros;
  /** Infinity where this call was never granted. */
  readonly token: number;
  /** The token that another call of the same request brought, whose offer this one may not have heard of. */
  readonly elsewhere: number;
  /** Until when it certainly waited, for one that was never granted. */
  readonly waitedUntil: Micros;
}

/** 4. Who was queued before another asked, and stayed alive, is granted first; tokens tell the order. */
export function checkFifo(timeline: Timeline, options: CheckOptions): Violation[] {
  return timeline.names().flatMap((name) => {
    const places = timeline.requestsOf(name).flatMap((request) => placesOf(request, timeline, options));
    const isPlain = (place: Place) => place.queuedAt === place.aliveFrom && place.elsewhere === Infinity;
    const direct = places.filter(isPlain);
    const returned = places.filter((place) => !isPlain(place));
    return [
      ...overtaken(direct, timeline.grantsOf(name)),
      ...overtakenAfterReturn(returned, timeline.grantsOf(name)),
    ];
  });
}

/** Only the last call of a request has a grant or a lasting wait; earlier ones may have earned its place. */
function placesOf(request: Request, timeline: Timeline, options: CheckOptions): Place[] {
  const places: Place[] = [];
  let earned: Micros | null = null;
  let previous: Call | null = null;
  for (const call of request.calls) {
    if (previous !== null && !keepsPlace(previous, call, options)) earned = null;
    previous = call;
    const queuedAt = call.queued?.at;
    if (queuedAt === undefined) continue;
    const until = Math.min(call.granted?.at ?? Infinity, call.over);
    const scope = { client: call.asked.client, name: request.name };
    const disturbed = timeline.excused('fifo', earned ?? queuedAt, Math.min(until, timeline.end), scope);
    if (disturbed || haunted(request, call, timeline)) {
      earned = null;
      continue;
    }
    const place = {
      call,
      aliveFrom: queuedAt,
      token: call.granted?.token ?? Infinity,
      elsewhere:
        call.granted === null ? Math.min(Infinity, ...request.grants.map((grant) => grant.token)) : Infinity,
      waitedUntil: call.granted === null ? waitedUntil(call, timeline, options) : Infinity,
    };
    places.push({ ...place, queuedAt });
    if (earned !== null) places.push({ ...place, queuedAt: earned });
    earned ??= queuedAt;
  }
  return places;
}

/** Ends of a call that leave its place in the queue, for the same request to come back to. */
const PLACE_KEPT: readonly (string | null)[] = [null, 'REATTACH', 'DRAINING', 'SUPERSEDED'];

function keepsPlace(previous: Call, next: Call, options: CheckOptions): boolean {
  const reason = previous.ended?.reason ?? null;
  // A second less than promised: the client's view of when the call ended is not the server's.
  const inTime = next.asked.at - previous.over < options.ticketKeptUs - 1_000_000;
  return inTime && PLACE_KEPT.includes(reason);
}

/**
 * Whether a command of an earlier call of the request, given up behind a stalled store, may have run after
 * this call's own: then the older call took the place over, and nobody speaks for it.
 */
function haunted(request: Request, call: Call, timeline: Timeline): boolean {
  return request.calls.some(
    (earlier) =>
      earlier !== call &&
      earlier.asked.at < call.asked.at &&
      timeline.faults.some(
        (window) => window.delays && window.from <= earlier.over && window.to >= call.asked.at,
      ),
  );
}

/** At the server a wait may have been over somewhat earlier, or a grant may have been on its way. */
function waitedUntil(call: Call, timeline: Timeline, options: CheckOptions): Micros {
  return Math.min(waitEnd(call), timeline.end) - 2 * options.latencyUs;
}

/** The usual case, in one sweep: the highest token of those who were queued before this one asked. */
function overtaken(places: readonly Place[], grants: readonly Grant[]): Violation[] {
  const queued = [...places].sort((a, b) => a.queuedAt - b.queuedAt);
  const violations: Violation[] = [];
  let next = 0;
  let slowest: Place | null = null;
  let patient: Place | null = null;
  for (const grant of fresh(grants).sort((a, b) => askedAt(a) - askedAt(b))) {
    for (let place = queued[next]; place !== undefined; place = queued[next]) {
      if (place.queuedAt >= askedAt(grant)) break;
      if (place.token !== Infinity && (slowest === null || place.token > slowest.token)) slowest = place;
      if (place.token === Infinity && (patient === null || place.waitedUntil > patient.waitedUntil)) {
        patient = place;
      }
      next += 1;
    }
    const victim = [slowest, patient].find((place) => place !== null && passed(place, grant));
    if (victim) violations.push(violation(victim, grant));
  }
  return violations;
}

/**
 * Who came back with its old place must be known to be back when the other was granted, so that one is
 * looked at only if the grant before it ended after the return. Few come back, so each is compared.
 */
function overtakenAfterReturn(places: readonly Place[], grants: readonly Grant[]): Violation[] {
  if (places.length === 0) return [];
  const ordered = [...grants].sort((a, b) => a.token - b.token);
  const victims = new Map<Call, Violation>();
  ordered.forEach((grant, index) => {
    const grantedAfter = Math.max(askedAt(grant), endOfPrevious(grant, ordered[index - 1]));
    for (const place of places) {
      if (place.queuedAt >= askedAt(grant) || place.aliveFrom > grantedAfter) continue;
      if (passed(place, grant)) victims.set(place.call, violation(place, grant));
    }
  });
  return [...victims.values()];
}

/** Before this the grant can't have been made: an exclusive one waits for the end of the one before. */
function endOfPrevious(grant: Grant, previous: Grant | undefined): Micros {
  if (previous === undefined) return -Infinity;
  const exclusive = grant.weight === WHOLE_LOCK || previous.weight === WHOLE_LOCK;
  return exclusive ? (previous.belief?.to ?? -Infinity) : -Infinity;
}

function passed(place: Place, grant: Grant): boolean {
  if (place.token === Infinity) {
    return place.waitedUntil > grant.received.at && place.elsewhere > grant.token;
  }
  return place.token > grant.token;
}

function fresh(grants: readonly Grant[]): Grant[] {
  return grants.filter((grant) => grant.asked !== null);
}

function askedAt(grant: Grant): Micros {
  return grant.asked?.at ?? -Infinity;
}

function violation(place: Place, grant: Grant): Violation {
  const { call } = place;
  return {
    invariant: 'fifo',
    name: grant.name,
    message:
      `token ${grant.token} was asked for after ${call.asked.client} was known to be queued, and was granted ` +
      (place.token === Infinity ? 'while that one still waited' : `before its token ${place.token}`),
    trace: [
      ...(call.queued === null ? [] : [call.queued]),
      ...(grant.asked === null ? [] : [grant.asked]),
      grant.received,
      ...(call.granted === null ? [] : [call.granted]),
    ],
  };
}
