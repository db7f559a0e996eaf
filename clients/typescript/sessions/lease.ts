import type { LossCause as StoredCause } from '../../../generated/typescript/holdfast/v1/lease';
import { type Lease as LeaseMessage } from '../../../generated/typescript/holdfast/v1/lease';
import { durationToMs } from '../duration';
import { Belief } from './belief';
import { LeaseLostError, type LossCause } from './session-error';
import type { OpenSession } from './open-session';

/** setTimeout has no longer delay. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface ReleaseAnswer {
  /** True: the work was protected until this release. */
  readonly released: boolean;
  /** If `released` is false: why the lease had ended, if known. */
  readonly lossCause: StoredCause;
}

/** An update of metadata without an answer. */
export interface PendingUpdate {
  place(): void;
  reject(error: Error): void;
}

/** What a lease asks of the client that holds it. */
export interface LeaseKeeper {
  over(lease: Lease): void;
  release(lease: Lease): Promise<ReleaseAnswer>;
  update(lease: Lease, metadata: ReadonlyMap<string, string>): Promise<void>;
}

/** A held lock, or held permits. */
export class Lease {
  /** A secret that belongs into no log. */
  readonly id: string;
  readonly name: string;
  readonly requestId: string;
  /** Pass the token to the protected store, which refuses smaller tokens. */
  readonly fencingToken: bigint;
  readonly permitCount: number;
  /** @internal The session that holds the lease, or that was last sent an attach. */
  home: OpenSession | undefined;
  /** @internal The number of the lease in `home`. Undefined until the attach is answered. */
  number: number | undefined;
  /** @internal The update without an answer. */
  update: PendingUpdate | undefined;
  /** @internal */
  ttl: number;
  private readonly belief: Belief;
  private loss: LeaseLostError | undefined;
  /** Made when the caller first asks for a signal, because an attach of 10,000 leases must not make 10,000 signals. */
  private ended: AbortController | undefined;
  private timer: NodeJS.Timeout | undefined;

  /** @internal */
  constructor(
    message: LeaseMessage,
    deadline: number,
    private readonly keeper: LeaseKeeper,
  ) {
    this.id = message.leaseId;
    this.name = message.name;
    this.requestId = message.requestId;
    this.fencingToken = message.fencingToken;
    this.permitCount = message.permitCount;
    this.ttl = (message.ttl && durationToMs(message.ttl)) ?? 0;
    this.belief = new Belief(deadline);
    this.watch();
  }

  /** The time on `performance.now()` until which this process may rely on the lease. */
  get deadline(): number {
    return this.belief.deadline;
  }

  get ttlMs(): number {
    return this.ttl;
  }

  /** The time until the deadline (ms). At most 0: the lease is over. */
  remaining(): number {
    return this.isOver ? 0 : this.deadline - performance.now();
  }

  /** Compares the clock too, because the timer of the deadline may be late. */
  get isOver(): boolean {
    if (this.loss === undefined && this.belief.isOver(performance.now())) this.end('DEADLINE');
    return this.loss !== undefined;
  }

  /** Call before each step of the work. Throws a LeaseLostError if the lease is over. */
  check(): void {
    if (this.isOver && this.loss) throw this.loss;
  }

  /** Why the lease is over. Undefined while the lease is held. */
  get lossCause(): LossCause | undefined {
    return this.isOver ? this.loss?.lossCause : undefined;
  }

  /** Aborts when the lease is over, with a LeaseLostError as its reason. Also after a release. */
  get signal(): AbortSignal {
    if (this.ended === undefined) {
      this.ended = new AbortController();
      if (this.loss) this.ended.abort(this.loss);
    }
    return this.ended.signal;
  }

  /** Resolves when the lease is over. Also after a release, with the cause RELEASED. */
  get lost(): Promise<LeaseLostError> {
    const { signal } = this;
    return new Promise((resolve) => {
      const tell = () => resolve(signal.reason as LeaseLostError);
      if (signal.aborted) tell();
      else signal.addEventListener('abort', tell, { once: true });
    });
  }

  /**
   * Releases the lease, after the work has ended. Also after a loss: the server may still renew a lease whose deadline
   * this process has missed. Repeated in each next session until an answer comes.
   */
  release(): Promise<ReleaseAnswer> {
    return this.keeper.release(this);
  }

  /** Replaces the metadata that others see. Rejects if the lease is over, or if an earlier update has no answer. */
  updateMetadata(metadata: ReadonlyMap<string, string>): Promise<void> {
    return this.keeper.update(this, metadata);
  }

  /** @internal Takes the deadline of a renewal or an attach. */
  confirm(deadline: number): void {
    this.belief.confirm(deadline, performance.now());
  }

  /** @internal Only the first cause counts. A deadline that has passed is an earlier cause. */
  end(cause: LossCause): void {
    if (this.loss) return;
    const passed = this.deadline <= performance.now();
    this.belief.end();
    clearTimeout(this.timer);
    this.loss = new LeaseLostError(passed ? 'DEADLINE' : cause, this.deadline);
    this.ended?.abort(this.loss);
    this.keeper.over(this);
  }

  /** A renewal does not move the timer. The timer finds the later deadline when it fires. */
  private watch(): void {
    const wait = Math.min(Math.ceil(this.deadline - performance.now()), LONGEST_TIMER_MS);
    this.timer = setTimeout(() => {
      if (!this.isOver) this.watch();
    }, wait);
    this.timer.unref();
  }
}
