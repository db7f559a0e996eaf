import type { Micros } from '../history';
import type { FaultWindow } from './fault-effects';
import { stopsOf } from './ghosts';
import { occupancy, type Occupied } from './occupancy';
import type { Timeline } from './timeline';
import { waitEnd, type Call } from './timeline-types';
import type { CheckOptions } from './violation';

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
