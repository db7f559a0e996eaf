import type { Micros } from '../history';
import type { Timeline } from './timeline';
import { type Call, type Grant, type Request, waitEnd, WHOLE_LOCK } from './timeline-types';
import type { CheckOptions, Violation } from './violation';

/** A waiter's place: queued at `queuedAt`, and alive from `aliveFrom` to its grant or end. */
interface Place {
  readonly call: Call;
  readonly queuedAt: Micros;
  readonly aliveFrom: Micros;
  /** The token of this call's grant, or Infinity without a grant. */
  readonly token: number;
  /** The lowest token that another call of the same request received, or Infinity. */
  readonly elsewhere: number;
  /** The latest instant at which a call without a grant was certainly waiting. */
  readonly waitedUntil: Micros;
}

/**
 * `docs/design/invariants.md`, 4: a live waiter that was queued before another request was sent gets the lower token.
 */
export function checkFifo(timeline: Timeline, options: CheckOptions): Violation[] {
  return timeline.names().flatMap((name) => {
    const places = timeline.requestsOf(name).flatMap((request) => placesOf(request, timeline, options));
    const isDirect = (place: Place) => place.queuedAt === place.aliveFrom && place.elsewhere === Infinity;
    const direct = places.filter(isDirect);
    const returned = places.filter((place) => !isDirect(place));
    return [
      ...overtaken(direct, timeline.grantsOf(name)),
      ...overtakenAfterReturn(returned, timeline.grantsOf(name)),
    ];
  });
}

/** Only the last call of a request is granted or keeps waiting. An earlier call may have got its place. */
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
    if (disturbed || mayBeTakenBack(request, call, timeline)) {
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

/** The reasons that leave a call's place in the queue for a retry of its request. */
const PLACE_KEPT: readonly (string | null)[] = [null, 'REATTACH', 'DRAINING', 'SUPERSEDED'];

function keepsPlace(previous: Call, next: Call, options: CheckOptions): boolean {
  const reason = previous.ended?.reason ?? null;
  // The time is one second less than in the contract, because the server may see the end of the call before the client.
  const inTime = next.asked.at - previous.over < options.ticketKeptUs - 1_000_000;
  return inTime && PLACE_KEPT.includes(reason);
}

/**
 * True if a delayed command of an earlier call may have run after this call's own command. Then the earlier call, which
 * has ended, took over the place.
 */
function mayBeTakenBack(request: Request, call: Call, timeline: Timeline): boolean {
  return request.calls.some(
    (earlier) =>
      earlier !== call &&
      earlier.asked.at < call.asked.at &&
      timeline.faults.some(
        (window) => window.delays && window.from <= earlier.over && window.to >= call.asked.at,
      ),
  );
}

/** Subtracts two latencies, because the server may have ended the wait earlier, or a grant may have been on its way. */
function waitedUntil(call: Call, timeline: Timeline, options: CheckOptions): Micros {
  return Math.min(waitEnd(call), timeline.end) - 2 * options.latencyUs;
}

/** Handles the usual case in one sweep. Each grant is compared with the waiters that were queued before its request. */
function overtaken(places: readonly Place[], grants: readonly Grant[]): Violation[] {
  const queued = [...places].sort((a, b) => a.queuedAt - b.queuedAt);
  const violations: Violation[] = [];
  let next = 0;
  let highest: Place | null = null;
  let ungranted: Place | null = null;
  for (const grant of fresh(grants).sort((a, b) => askedAt(a) - askedAt(b))) {
    for (let place = queued[next]; place !== undefined; place = queued[next]) {
      if (place.queuedAt >= askedAt(grant)) break;
      if (place.token !== Infinity && (highest === null || place.token > highest.token)) highest = place;
      if (place.token === Infinity && (ungranted === null || place.waitedUntil > ungranted.waitedUntil)) {
        ungranted = place;
      }
      next += 1;
    }
    const victim = [highest, ungranted].find((place) => place !== null && passed(place, grant));
    if (victim) violations.push(violation(victim, grant));
  }
  return violations;
}

/**
 * Waiters that came back to their old places. A waiter counts only if it was certainly back when the other grant was
 * made. Few waiters come back, so each is compared with each grant.
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

/** The earliest instant of a grant. An exclusive grant follows the end of the previous grant. */
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
      `token ${grant.token} was requested after ${call.asked.client} was queued, and was granted ` +
      (place.token === Infinity ? 'while that client still waited' : `before its token ${place.token}`),
    trace: [
      ...(call.queued === null ? [] : [call.queued]),
      ...(grant.asked === null ? [] : [grant.asked]),
      grant.received,
      ...(call.granted === null ? [] : [call.granted]),
    ],
  };
}
