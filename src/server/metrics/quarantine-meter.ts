import type { Clock } from '../../base/clock';
import type { QuarantineCause, StoreHealth } from '../../base/store-health';

/** The time that this server has spent in quarantine, by cause. */
export class QuarantineMeter {
  private readonly spent: Record<QuarantineCause, number> = { forgotten: 0, restarted: 0, clock: 0 };
  private store: StoreHealth | undefined;
  private cause: QuarantineCause | undefined;
  private since = 0;

  constructor(private readonly clock: Clock) {}

  watch(store: StoreHealth): void {
    this.store = store;
    store.onChange(() => this.observe());
    this.observe();
  }

  /** The time until now (ms). */
  spentMs(): Readonly<Record<QuarantineCause, number>> {
    this.observe();
    return this.spent;
  }

  /** The time since the last observation counts for the cause that was seen then. */
  private observe(): void {
    const now = this.clock.now();
    if (this.cause !== undefined) this.spent[this.cause] += now - this.since;
    this.since = now;
    this.cause = this.store?.quarantine?.cause;
  }
}
