import type { Clock, Timer } from '../base/clock';

export interface TimerEntry {
  cancel(): void;
}

/** An object with repeated work. One object for all runs costs less memory than a function for each run. */
export interface TimedWork {
  run(): void;
}

/** All entries of one slot run together, so that their commands leave in one write. */
const SLOT_MS = 10;
/** Entries run for this long in one turn of the event loop (ms). Then calls and replies of the store come first. */
const SLICE_MS = 2;

/** Work that is due. One object of a class costs less than an object with functions of its own. */
class Entry implements TimerEntry {
  constructor(
    private readonly queue: { cancel(entry: Entry): void },
    readonly slot: number,
    /** The other entries of the slot, with this one. */
    readonly entries: Set<Entry>,
    readonly work: TimedWork | (() => void),
  ) {}

  run(): void {
    const { work } = this;
    if (typeof work === 'function') work();
    else work.run();
  }

  cancel(): void {
    this.queue.cancel(this);
  }
}

/**
 * Runs the work of a server that is due at a given time: renewals, touches, ends of waits. One timer serves all
 * entries. An entry never runs early. An entry runs more than one slot late only if the entries before it take longer
 * than a slice.
 */
export class TimerQueue {
  private readonly slots = new Map<number, Set<Entry>>();
  /** Entries that are due, and did not run in the last turn. */
  private readonly overdue: Set<Entry>[] = [];
  private timer: Timer | undefined;
  private armedFor = Infinity;

  constructor(private readonly clock: Clock) {}

  /** The number of entries that have not run yet. */
  get size(): number {
    let size = 0;
    for (const slot of this.slots.values()) size += slot.size;
    for (const slot of this.overdue) size += slot.size;
    return size;
  }

  at(time: number, work: TimedWork | (() => void)): TimerEntry {
    const slot = Math.ceil(time / SLOT_MS);
    let entries = this.slots.get(slot);
    if (!entries) this.slots.set(slot, (entries = new Set()));
    const entry = new Entry(this, slot, entries, work);
    entries.add(entry);
    if (slot < this.armedFor) this.arm(slot);
    return entry;
  }

  /** For entries of this queue. Safe to call twice, and after the run. */
  cancel(entry: Entry): void {
    const { entries, slot } = entry;
    if (!entries.delete(entry) || entries.size > 0 || this.slots.get(slot) !== entries) return;
    this.slots.delete(slot);
    if (this.slots.size + this.overdue.length === 0) this.disarm();
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
    const startedAt = this.clock.now();
    this.takeDue(Math.floor(startedAt / SLOT_MS));
    for (const entries of this.overdue) {
      for (const entry of entries) {
        if (this.clock.now() - startedAt >= SLICE_MS) return this.continueSoon();
        entries.delete(entry);
        entry.run();
      }
    }
    this.overdue.length = 0;
    let next = Infinity;
    for (const slot of this.slots.keys()) next = Math.min(next, slot);
    if (next < this.armedFor) this.arm(next);
  }

  /** Timers of Node run before sockets are read, so calls and replies come between two slices. */
  private continueSoon(): void {
    while (this.overdue[0]?.size === 0) this.overdue.shift();
    this.arm(Math.floor(this.clock.now() / SLOT_MS));
  }

  /** Moves the entries of all slots that are due to `overdue`, the earliest first. */
  private takeDue(current: number): void {
    const due = [...this.slots.keys()].filter((slot) => slot <= current).sort((a, b) => a - b);
    for (const slot of due) {
      const entries = this.slots.get(slot);
      this.slots.delete(slot);
      if (entries) this.overdue.push(entries);
    }
  }
}

/** One planned run, at the earliest of the times that were asked for. */
export class EarliestRun {
  private entry: TimerEntry | undefined;
  /** Infinity: no run is planned. */
  private time = Infinity;

  constructor(
    private readonly timers: TimerQueue,
    private readonly work: () => void,
  ) {}

  /** Whether the run is planned for this time or before. */
  isPlannedBy(time: number): boolean {
    return this.time <= time;
  }

  /** Never delays a planned run. */
  by(time: number): void {
    if (this.isPlannedBy(time)) return;
    this.cancel();
    this.time = time;
    this.entry = this.timers.at(time, () => {
      this.time = Infinity;
      this.work();
    });
  }

  cancel(): void {
    this.entry?.cancel();
    this.time = Infinity;
  }
}
