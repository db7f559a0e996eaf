import type { FaultKind, Granted, HistoryEvent, HoldersObserved, Micros } from '../history';
import type { FaultWindow } from './fault-effects';
import { ghosts, holdsNothing, occupancy, type Occupied, stopsOf } from './occupancy';
import type { Timeline } from './timeline';
import { type Call, waitEnd } from './timeline-types';
import type { CheckOptions, Violation } from './violation';

/** A span with room for every live waiter and without a grant to any of them. */
export interface Starvation {
  readonly from: Micros;
  readonly to: Micros;
  /** The call with the longest wait. */
  readonly waiter: Call;
  /** The holder that made room at `from` by its end. Undefined if another event made room. */
  readonly freedBy: Occupied | null;
}

interface Edge {
  readonly at: Micros;
  apply(): void;
}

/**
 * Finds the starvations of a name in one sweep over its holders, waiters and limits. There must be room for the
 * heaviest live waiter, so the order of the queue does not matter. `disturbs` selects the faults that suspend the
 * check.
 */
export function starvations(
  name: string,
  timeline: Timeline,
  options: CheckOptions,
  disturbs: (window: FaultWindow) => boolean,
): Starvation[] {
  return new Sweep(name, timeline, options, disturbs).run();
}

class Sweep {
  private used = 0;
  private disturbances = 0;
  private readonly waiting = new Set<Call>();
  /** The number of waiters by weight. There are few different weights. */
  private readonly weights = new Map<number, number>();
  private readonly edges: Edge[] = [];
  private readonly found: Starvation[] = [];
  private open: { from: Micros; waiter: Call; freedBy: Occupied | null } | null = null;
  private lastFreed: { at: Micros; by: Occupied } | null = null;

  constructor(
    private readonly name: string,
    private readonly timeline: Timeline,
    private readonly options: CheckOptions,
    disturbs: (window: FaultWindow) => boolean,
  ) {
    this.addOccupied();
    this.addWaiters();
    for (const window of timeline.faults) {
      const here = window.names === null || window.names.has(name);
      if (here && disturbs(window)) {
        this.span(window.from, window.shownTo, (sign) => (this.disturbances += sign));
      }
    }
    for (const at of timeline.limitOf(name).steps()) this.edges.push({ at, apply: () => undefined });
  }

  run(): Starvation[] {
    this.edges.sort((a, b) => a.at - b.at);
    let index = 0;
    while (index < this.edges.length) {
      const at = this.edges[index]?.at ?? Infinity;
      if (at > this.timeline.end) break;
      for (let edge = this.edges[index]; edge !== undefined && edge.at === at; edge = this.edges[index]) {
        edge.apply();
        index += 1;
      }
      this.evaluate(at);
    }
    this.close(this.timeline.end);
    return this.found;
  }

  /** Evaluates the state from this instant to the next edge. */
  private evaluate(at: Micros): void {
    const heaviest = Math.max(0, ...this.weights.keys());
    const room = this.used + heaviest <= this.timeline.limitOf(this.name).lowest(at + 0.5);
    const [longest] = this.waiting;
    if (longest === undefined || !room || this.disturbances > 0) return this.close(at);
    if (this.open === null) {
      const freedBy = this.lastFreed?.at === at ? this.lastFreed.by : null;
      this.open = { from: at, waiter: longest, freedBy };
    } else if (!this.waiting.has(this.open.waiter)) {
      this.open.waiter = longest;
    }
  }

  private close(at: Micros): void {
    if (this.open !== null && at > this.open.from) this.found.push({ ...this.open, to: at });
    this.open = null;
  }

  private addOccupied(): void {
    for (const occupied of occupancy(this.name, this.timeline, this.options)) {
      this.span(occupied.from, occupied.to, (sign, at) => {
        this.used += sign * occupied.weight;
        if (sign < 0) this.lastFreed = { at, by: occupied };
      });
    }
  }

  /** A waiter counts from its certain place in the queue on, except while its client is paused. */
  private addWaiters(): void {
    for (const request of this.timeline.requestsOf(this.name)) {
      for (const call of request.calls) {
        if (call.asked.waitTimeoutUs === 0) continue;
        const from = call.queued?.at ?? call.asked.at + this.options.latencyUs;
        const to = Math.min(call.granted?.at ?? Infinity, waitEnd(call));
        let counting = from;
        for (const stop of stopsOf(call, this.timeline)) {
          this.addWaiter(call, request.weight, counting, Math.min(stop.from, to));
          counting = Math.max(counting, stop.to + this.options.latencyUs);
        }
        this.addWaiter(call, request.weight, counting, to);
      }
    }
  }

  private addWaiter(call: Call, weight: number, from: Micros, to: Micros): void {
    this.span(from, to, (sign) => {
      if (sign > 0) this.waiting.add(call);
      else this.waiting.delete(call);
      const count = (this.weights.get(weight) ?? 0) + sign;
      if (count > 0) this.weights.set(weight, count);
      else this.weights.delete(weight);
    });
  }

  private span(from: Micros, to: Micros, apply: (sign: 1 | -1, at: Micros) => void): void {
    if (to <= from) return;
    this.edges.push({ at: from, apply: () => apply(1, from) });
    if (to !== Infinity) this.edges.push({ at: to, apply: () => apply(-1, to) });
  }
}

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
