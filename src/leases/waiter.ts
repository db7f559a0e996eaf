import type { Resource } from './lease';
import type { LeaseWanted, QueueSnapshot, Waiting } from './lease-store';

/** The signals that wake a waiting call, the most urgent signal first. */
const signals = ['cancelled', 'superseded', 'granted', 'draining', 'given-up', 'ended', 'recheck'] as const;
export type Signal = (typeof signals)[number];

/** One call that waits in a queue of the store. */
export class Waiter {
  /** The place in the queue. Each claim sends the ticket, so a store that has lost its queue restores the place. */
  ticket: string;
  position: number;
  snapshot: QueueSnapshot;
  /** When the call was added to the calls that wait (moments.ts). */
  since = 0;
  private readonly raised = new Set<Signal>();
  private wakeUp: (() => void) | undefined;

  constructor(
    readonly resource: Resource,
    readonly wanted: LeaseWanted,
    place: Pick<Waiting, 'ticket' | 'position' | 'snapshot'>,
    /** As in `speaksLater`. */
    public confirmedAt: number,
    private readonly onPosition: ((waiter: Waiter) => void) | undefined,
  ) {
    this.ticket = place.ticket;
    this.position = place.position;
    this.snapshot = place.snapshot;
  }

  raise(signal: Signal): void {
    this.raised.add(signal);
    this.wakeUp?.();
  }

  isRaised(signal: Signal): boolean {
    return this.raised.has(signal);
  }

  /** Resolves to the most urgent signal. `granted` and `recheck` are cleared; the other signals stay raised. */
  async next(): Promise<Signal> {
    for (;;) {
      const signal = signals.find((candidate) => this.raised.has(candidate));
      if (signal) {
        if (signal === 'granted' || signal === 'recheck') this.raised.delete(signal);
        return signal;
      }
      await new Promise<void>((resolve) => (this.wakeUp = resolve));
    }
  }

  update(position: number, snapshot: QueueSnapshot): void {
    this.position = position;
    this.snapshot = snapshot;
    this.onPosition?.(this);
  }
}
