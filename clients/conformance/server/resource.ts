import type { Holding, Waiting } from './store';

/** What an acquire asks for. */
export interface Wanted {
  readonly kind: 'lock' | 'permits';
  readonly name: string;
  readonly requestId: string;
  readonly ttlMs: number;
  /** Undefined: until the command is cancelled. */
  readonly waitMs: number | undefined;
  readonly shared: boolean;
  readonly permits: number;
  /** The limit of a semaphore that does not exist yet. 0: not given. */
  readonly limit: number;
  readonly holderId: string;
  metadata: ReadonlyMap<string, string>;
}

/** One lock or semaphore. */
export class Resource {
  /** The limit of a semaphore. 0: there is no semaphore yet. */
  limit = 0;
  /** The semaphore is paused: its limit is shown as the one that comes back. */
  isPaused = false;
  lastToken = 0n;
  readonly holders = new Set<Holding>();
  queue: Waiting[] = [];

  constructor(
    readonly kind: 'lock' | 'permits',
    readonly name: string,
  ) {}

  fits(wanted: Wanted): boolean {
    const held = [...this.holders].map((one) => one.wanted);
    if (this.kind === 'lock') return wanted.shared ? held.every((one) => one.shared) : held.length === 0;
    if (this.isPaused) return false;
    return held.reduce((sum, one) => sum + one.permits, wanted.permits) <= this.limit;
  }

  waiting(requestId: string): Waiting | undefined {
    return this.queue.find((one) => one.wanted.requestId === requestId);
  }

  position(waiting: Waiting): number {
    return this.queue.indexOf(waiting) + 1;
  }

  get firstHolder(): Holding | undefined {
    return [...this.holders][0];
  }
}
