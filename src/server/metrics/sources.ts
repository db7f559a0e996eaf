import type { OpenedAccess } from '../../access/open-access';
import type { CertificateEnds } from '../../access/server-certificates';
import { type Clock, observerClock, type Timer } from '../../base/clock';
import { Distribution } from '../../base/meters';
import type { QuarantineCause, StoreHealth } from '../../base/store-state';
import type { CommandMeters } from '../../redis/topology/open';
import type { CallMeters } from '../../rpc/entry/call-meters';

const INTERVAL_MS = 100;
/** From a quiet event loop to a stall that costs leases (ms). */
const BOUNDS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000];
/** A delay of this length is a stall (ms). One stall costs leases, but is no percentile of the delays of minutes. */
const STALL_MS = 1000;

/** Measures how late timers run: ten times a second, so the cost is not measurable. */
export class EventLoopMeter {
  readonly delayMs = new Distribution(BOUNDS);
  /** The sum of all stalls (ms). */
  stalledMs = 0;
  private timer: Timer | undefined;

  constructor(private readonly clock: Clock = observerClock) {}

  start(): void {
    this.timer ??= this.wait(this.clock.now());
  }

  close(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }

  private wait(since: number): Timer {
    return this.clock.after(INTERVAL_MS, () => {
      const now = this.clock.now();
      this.add(Math.max(now - since - INTERVAL_MS, 0));
      this.timer = this.wait(now);
    });
  }

  private add(delayMs: number): void {
    this.delayMs.add(delayMs);
    if (delayMs >= STALL_MS) this.stalledMs += delayMs;
  }
}

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

/** The parts of a server that metrics of no product are read from. A part is undefined until the server has it. */
export interface MetricSources {
  readonly version: string;
  readonly calls: CallMeters | undefined;
  readonly store: StoreHealth | undefined;
  /** The certificates in use. */
  readonly certificates: Pick<CertificateEnds, 'all'>;
  readonly access: Pick<OpenedAccess, 'reloads'> | undefined;
  readonly commands: CommandMeters;
  readonly quarantine: QuarantineMeter;
  readonly eventLoop: EventLoopMeter;
  /** Whether the server accepts work, as health and `/readyz` say. */
  readonly isReady: () => boolean;
}
