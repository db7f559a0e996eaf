import { StoreFailure } from '../../base/errors';
import { BUCKET_COUNT, epochKey, LEASE_LAYOUT } from '../buckets';
import type { RedisConnection } from '../connection';
import { redirectionOf } from '../failure-class';

/** The most epochs in one command. The command blocks Redis for less than 0.1 ms. */
const EPOCHS_PER_COMMAND = 64;
/** How many commands are in flight on a node of a Cluster, where one command can name only the buckets of one slot. */
const COMMANDS_IN_FLIGHT = 16;
const EVERYTHING: readonly (readonly number[])[] = Array.from(
  { length: BUCKET_COUNT / EPOCHS_PER_COMMAND },
  (_, group) => Array.from({ length: EPOCHS_PER_COMMAND }, (_, at) => group * EPOCHS_PER_COMMAND + at),
);

/** The buckets of one node. They change in a Cluster. */
export interface NodeBuckets {
  /** The node's buckets, in groups that one command can name. */
  buckets(): readonly (readonly number[])[];
  /** Runs of other nodes that moved the buckets of these epochs here without a loss. */
  sourceRuns(keys: readonly string[]): Promise<readonly string[]>;
  /** Called when all epochs of a new run of this node are in force. */
  onSettled?(): void;
}

/** The fields that all epochs of a node share while grants do not pause, besides the run. */
export interface Bounds {
  /** The longest quarantine of any server (ms). */
  readonly longestMs: number;
  /** `a`: every acknowledged write is on disk; `w`: some may not be. */
  readonly durability: string;
  readonly overlapMs: number;
}

/** The buckets of a Redis outside a Cluster. */
export const ALL_BUCKETS: NodeBuckets = {
  buckets: () => EVERYTHING,
  sourceRuns: () => Promise.resolve([]),
};

/**
 * Runs a command for each group of epochs of a node. `onLeaving` gets the epochs that could not be reached because
 * their slot is moving to another node.
 */
export async function forEachGroup<T>(
  nodeBuckets: NodeBuckets,
  prefix: string,
  run: (keys: readonly string[]) => Promise<T>,
  onLeaving: (keys: readonly string[]) => void = () => undefined,
): Promise<T[]> {
  const answers: T[] = [];
  const groups = nodeBuckets.buckets().map((buckets) => buckets.map((bucket) => epochKey(prefix, bucket)));
  const hasAll = nodeBuckets === ALL_BUCKETS;
  const inFlight = hasAll ? 1 : COMMANDS_IN_FLIGHT;
  for (let first = 0; first < groups.length; first += inFlight) {
    const batch = groups.slice(first, first + inFlight);
    const outcomes = await Promise.allSettled(batch.map(run));
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.status === 'fulfilled') answers.push(outcome.value);
      // In a Cluster the bucket may have moved: a later command asks the new owner.
      else if (hasAll || !isElsewhere(outcome.reason)) throw outcome.reason;
      else if (!isMoved(outcome.reason)) onLeaving(batch[index] ?? []);
    }
  }
  if (groups.length > 0 && answers.length === 0) throw new StoreFailure('no', 'unavailable');
  return answers;
}

/** True if the command certainly did not run. */
export function wasNotDone(error: unknown): error is StoreFailure {
  return error instanceof StoreFailure && error.carriedOut === 'no';
}

/** True if the slot of the command has moved to another node, or is moving. */
export function isElsewhere(error: unknown): boolean {
  const kind = wasNotDone(error) ? redirectionOf(error.cause)?.kind : undefined;
  return kind === 'moved' || kind === 'ask' || kind === 'try-again';
}

/** True if the slot of the command has moved to another node. */
export function isMoved(error: unknown): boolean {
  return wasNotDone(error) && redirectionOf(error.cause)?.kind === 'moved';
}

export function worstOf(a: Bounds, b: Bounds): Bounds {
  return {
    longestMs: Math.max(a.longestMs, b.longestMs),
    durability: b.durability === 'a' ? a.durability : b.durability,
    overlapMs: Math.max(a.overlapMs, b.overlapMs),
  };
}

export interface EpochWatchOptions {
  readonly prefix: string;
  readonly nodeBuckets: NodeBuckets;
  readonly connection: () => RedisConnection;
  /** Called if a bucket of the node has no epoch, or an epoch of another layout or with a pause. */
  readonly onDoubt: () => void;
}

/** An epoch of this layout without the fields of a pause: run, durability and two bounds (redis/scripts/epoch-adopt.lua). */
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
