import type { RedisConnection } from '../connection';
import { epochKey, LEASE_LAYOUT } from '../buckets';
import type { NodeBuckets } from './epoch-buckets';

export interface EpochWatchOptions {
  readonly prefix: string;
  readonly nodeBuckets: NodeBuckets;
  readonly connection: () => RedisConnection;
  /** Called if a bucket of the node has no epoch, or an epoch of another layout or with a pause. */
  readonly onDoubt: () => void;
}

/** An epoch of this layout without the fields of a pause: run, durability and two bounds (scripts/epochs/epoch-adopt.lua). */
const CALM = new RegExp(`^L${LEASE_LAYOUT}:\\S+ \\S+ \\S+ \\S+$`);

/**
 * Reads one epoch of the node, so that an idle server also finds out that Redis was emptied, or that another server has
 * begun a quarantine or has another layout. Only an adoption judges epochs. A repeated adoption changes nothing, so an
 * old answer does no harm.
 */
export class EpochWatch {
  private checkCount = 0;

  constructor(private readonly options: EpochWatchOptions) {}

  /** Each check reads a bucket of the next group. */
  check(): void {
    const { prefix, nodeBuckets, connection, onDoubt } = this.options;
    const groups = nodeBuckets.buckets();
    const [bucket] = groups[this.checkCount % groups.length] ?? [];
    this.checkCount += 1;
    if (bucket === undefined) return;
    connection()
      .ask('GET', epochKey(prefix, bucket))
      .then(
        (epoch) => {
          if (typeof epoch !== 'string' || !CALM.test(epoch)) onDoubt();
        },
        // In a Cluster the bucket may have moved. The next check follows in any case.
        () => undefined,
      );
  }
}
