import type { StatusSpec } from './status-spec';

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

/** Where a command waits or a lease is held: a command of a session. */
export interface Place {
  readonly clientId: string;
  readonly sessionNumber: number;
  queued(position: number, waiterCount: number, holder: Holding | undefined): void;
  granted(holding: Holding): void;
  failed(status: StatusSpec): void;
  cancelled(): void;
  /** The lease ends here. A number is a cause that the contract does not know. */
  ended(cause: string | number): void;
}

export interface Holding {
  readonly leaseId: string;
  readonly token: bigint;
  readonly resource: Resource;
  readonly wanted: Wanted;
  /** The session that speaks for the lease. Undefined for a stranger. */
  place: Place | undefined;
  /** The end of the lease (ms, monotonic clock). Infinity for a stranger. */
  until: number;
  revoked: boolean;
  /** The latest deadline that a client may compute from all that it was told (ms, monotonic clock). */
  believableUntil: number;
  /** When the client was first told of the lease. Infinity: not yet. */
  toldAt: number;
  timer: NodeJS.Timeout | undefined;
}

export interface Waiting {
  readonly wanted: Wanted;
  place: Place;
  timer: NodeJS.Timeout | undefined;
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
