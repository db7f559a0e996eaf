import type { Clock } from '../../base/clock';
import { StoreFailure } from '../../base/errors';
import type { Commands } from '../../redis/command-runner';

/** Puts and imports are refused above this share of `maxmemory`. The rest is for leases. */
const MOST_MEMORY_SHARE = 0.8;
/**
 * Puts and imports wait while a replica is behind by more than this number of bytes. So a failover loses little, and no
 * replica falls far behind.
 */
const MOST_LAG_BYTES = 8 * 2 ** 20;
/** The pause between two checks (ms). A new report of the node comes about once a second. */
const PAUSE_MS = 250;
/** The longest wait of one call, for all its chunks together. */
const LONGEST_WAIT_MS = 30_000;

/** The chunks of one call. */
export interface BulkCall {
  /** Resolves when the next chunk may be written. Rejects if memory is short, or if replicas stay behind. */
  admit(key: string): Promise<void>;
}

/**
 * Protects leases from the writes of dictionaries. The command window already sends these writes last
 * (command-window.ts). This class refuses the writes while memory is short, and delays the writes while replicas are
 * behind.
 */
export class BulkWrites {
  constructor(
    private readonly commands: Pick<Commands, 'reportOf'>,
    private readonly clock: Clock,
  ) {}

  newCall(): BulkCall {
    let waitedMs = 0;
    return {
      admit: async (key) => {
        for (;;) {
          const report = this.commands.reportOf(key);
          if ((report?.memoryShare ?? 0) >= MOST_MEMORY_SHARE) throw new StoreFailure('no', 'full');
          if ((report?.replicaLagBytes ?? 0) <= MOST_LAG_BYTES) return;
          if (waitedMs >= LONGEST_WAIT_MS) throw new StoreFailure('no', 'overloaded');
          await new Promise<void>((resolve) => this.clock.after(PAUSE_MS, resolve));
          waitedMs += PAUSE_MS;
        }
      },
    };
  }
}
