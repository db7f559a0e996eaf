import type { Clock, Timer } from '../clock';

export interface TimerEntry {
  cancel(): void;
}

/** All entries of one slot run together, so that their commands leave in one write. */
const SLOT_MS = 10;

/**
 * Runs the work of a server that is due at a given time: renewals, touches, ends of waits. One timer serves all
 * entries. An entry never runs early, and at most one slot late.
 */
export class TimerQueue {
  private readonly slots = new Map<number, Set<() => void>>();
  private timer: Timer | undefined;
  private armedFor = Infinity;

  constructor(private readonly clock: Clock) {}

  /** The number of entries that have not run yet. */
  get size(): number {
    let size = 0;
    for (const slot of this.slots.values()) size += slot.size;
    return size;
  }

  at(time: number, run: () => void): TimerEntry {
    const slot = Math.ceil(time / SLOT_MS);
    let entries = this.slots.get(slot);
    if (!entries) this.slots.set(slot, (entries = new Set()));
    const entry = () => run(); // `run` may be added twice, so each entry needs its own function in the set
    entries.add(entry);
    if (slot < this.armedFor) this.arm(slot);
    return {
      cancel: () => {
        if (entries.delete(entry) && entries.size === 0 && this.slots.get(slot) === entries) {
          this.slots.delete(slot);
          if (this.slots.size === 0) this.disarm();
        }
      },
    };
  }

  private arm(slot: number): void {
    this.timer?.cancel();
    this.armedFor = slot;
    this.timer = this.clock.after(slot * SLOT_MS - this.clock.now(), () => this.runDue());
  }

  private disarm(): void {
    this.timer?.cancel();
    this.timer = undefined;
    this.armedFor = Infinity;
  }

  private runDue(): void {
    this.armedFor = Infinity;
    const current = Math.floor(this.clock.now() / SLOT_MS);
    const due = [...this.slots.keys()].filter((slot) => slot <= current).sort((a, b) => a - b);
    for (const slot of due) {
      const entries = this.slots.get(slot) ?? [];
      this.slots.delete(slot);
      for (const run of entries) run();
    }
    let next = Infinity;
    for (const slot of this.slots.keys()) next = Math.min(next, slot);
    if (next < this.armedFor) this.arm(next);
  }
}
