import type { FaultKind, Granted, HistoryEvent, HoldersObserved, Micros } from '../history';
import type { FaultWindow } from './fault-effects';
import { ghosts, holdsNothing } from './ghosts';
import { starvations, type Starvation } from './starvation';
import type { Timeline } from './timeline';
import type { Call } from './timeline-types';
import type { CheckOptions, Violation } from './violation';

/**
 * `docs/design/invariants.md`, 13: a waiter that cancelled, timed out or died holds permits for at most the claim time,
 * or for its TTL if its server died between claim and answer. No server sends a grant after its offset has passed.
 */
export function checkDeadGrant(timeline: Timeline, options: CheckOptions): Violation[] {
  return [
    ...timeline.grants.flatMap((grant) => deadOnArrival(grant.received, timeline, options)),
    ...timeline
      .names()
      .flatMap((name) => [...unclaimed(name, timeline, options), ...blockedByDead(name, timeline, options)]),
  ];
}

/** The faults that can delay a call on its way to the server. */
const DELAYS_OF_CALLS: readonly FaultKind[] = [
  'server_stopped',
  'client_stopped',
  'client_silent',
  'link_cut',
  'link_slow',
  'machine_stalled',
];

/**
 * Finds grants that arrived after their deadline. The deadline counts from the send of the call, and the server cannot
 * know how late the call was. So a delay of the call makes the grant late too, even if the call then waited for long.
 */
function deadOnArrival(received: Granted, timeline: Timeline, options: CheckOptions): Violation[] {
  const { t0, at, deadline, ttlUs, client, name, token } = received;
  const lateUs = at - deadline;
  if (lateUs <= options.latencyUs) return [];
  // The call and the answer together took at most this time, because the end was at most a ttl after the grant.
  const delayUs = lateUs + ttlUs;
  const arrivedBy = Math.min(t0 + delayUs, at);
  const scope = { client, name };
  if (timeline.excused('dead_grant', at - delayUs, at, scope)) return [];
  if (timeline.excused('dead_grant', t0, arrivedBy, { ...scope, kinds: DELAYS_OF_CALLS })) return [];
  // A server on a busy machine reads calls late, and then other calls are as slow. It still writes answers quickly.
  if (timeline.pace.wasSlow(t0, arrivedBy, lateUs)) return [];
  return [violation(name, `token ${token} arrived ${lateUs / 1000} ms after its deadline`, [received])];
}

/** Finds holders that the service shows and that no client was granted. */
function unclaimed(name: string, timeline: Timeline, options: CheckOptions): Violation[] {
  const delivered = new Set(timeline.grantsOf(name).map((grant) => grant.token));
  const seen = new Map<number, { first: HoldersObserved; last: HoldersObserved }>();
  for (const event of timeline.history) {
    if (event.type !== 'holders_observed' || event.name !== name) continue;
    for (const token of event.tokens.filter((candidate) => !delivered.has(candidate))) {
      seen.set(token, { first: seen.get(token)?.first ?? event, last: event });
    }
  }
  const explained = ghosts(name, timeline, options);
  return [...seen].flatMap(([token, { first, last }]) => {
    const until = explained
      .filter((ghost) => ghost.from <= first.at && ghost.to >= first.at)
      .reduce((latest, ghost) => Math.max(latest, ghost.to), first.at + options.claimUs);
    if (last.at <= until + options.latencyUs) return [];
    if (timeline.excused('dead_grant', first.at - options.claimUs, last.at, { name })) return [];
    const seconds = (last.at - first.at) / 1_000_000;
    return [
      violation(name, `token ${token} was held for ${seconds} s, and no client was granted it`, [
        first,
        last,
      ]),
    ];
  });
}

/** Finds live waiters beside free permits that only a dead request can have blocked. */
function blockedByDead(name: string, timeline: Timeline, options: CheckOptions): Violation[] {
  const disturbs = (window: FaultWindow) => window.excuses.has('dead_grant');
  const bound = options.claimUs + options.latencyUs;
  return starvations(name, timeline, options, disturbs).flatMap((starvation) => {
    if (starvation.to - starvation.from <= bound) return [];
    const dead = deadRequest(name, starvation, timeline);
    if (dead === null) return [];
    const end = dead.cancelled ?? timeline.killed.get(dead.asked.client) ?? dead.ended;
    const message =
      `${starvation.waiter.asked.client} waited for ${(starvation.to - starvation.from) / 1000} ms ` +
      `beside free permits, behind the dead request of ${dead.asked.client}`;
    return [violation(name, message, [dead.asked, ...(end === null ? [] : [end]), starvation.waiter.asked])];
  });
}

/** The last request that ended without a grant before or during the starvation. */
function deadRequest(name: string, { from, to }: Starvation, timeline: Timeline): Call | null {
  const remembered: Micros = 60_000_000;
  let latest: Call | null = null;
  for (const call of timeline.callsOf(name)) {
    const gone = call.granted === null && call.over >= from - remembered && call.over <= to;
    const waited = call.asked.waitTimeoutUs !== 0 && !(holdsNothing(call) && call.queued === null);
    if (gone && waited && (latest === null || call.over > latest.over)) latest = call;
  }
  return latest;
}

function violation(name: string, message: string, trace: readonly HistoryEvent[]): Violation {
  return { invariant: 'dead_grant', name, message, trace };
}
