import { StoreFailure } from '../../engine/errors';
import { BUCKET_COUNT, epochKey } from '../keys';
import type { Reply } from '../connection/script-command';

/** Of one command: it holds Redis for less than a tenth of a millisecond. */
const EPOCHS_AT_ONCE = 64;
/** How many of a few buckets each are on their way at a time. */
const AT_A_TIME = 16;
const EVERYTHING: readonly (readonly number[])[] = Array.from(
  { length: BUCKET_COUNT / EPOCHS_AT_ONCE },
  (_, group) => Array.from({ length: EPOCHS_AT_ONCE }, (_, at) => group * EPOCHS_AT_ONCE + at),
);

/** What one of several nodes has; it changes. */
export interface NodeBuckets {
  /** Its buckets, those together that one command may be about. */
  buckets(): readonly (readonly number[])[];
  /** Runs of other nodes from which the buckets of these epochs may have been moved here as they were. */
  sourceRuns(keys: readonly string[]): Promise<readonly string[]>;
  /** All epochs here are those of the run that is here now, which was new. */
  settled?(): void;
}

/** What epochs say while nothing pauses, beside the run that they are in force for. */
export interface Bounds {
  readonly longestMs: number;
  readonly durability: string;
  readonly overlapMs: number;
}

/** What one look at all epochs found. */
export interface Sweep extends Bounds {
  readonly leftUs: number;
  readonly cause: string;
}

/** All buckets, of one node that has them all. */
export const ALL_BUCKETS: NodeBuckets = {
  buckets: () => EVERYTHING,
  sourceRuns: () => Promise.resolve([]),
};

/** Does something with the epochs of all buckets that are here; some may be leaving, and are told of. */
export async function eachOf<T>(
  share: NodeBuckets,
  prefix: string,
  run: (keys: readonly string[]) => Promise<T>,
  leaves: (keys: readonly string[]) => void = () => undefined,
): Promise<T[]> {
  const answers: T[] = [];
  const groups = [...share.buckets()];
  const hasSome = groups.length > 0;
  const isAlone = share === ALL_BUCKETS;
  const most = isAlone ? 1 : AT_A_TIME;
  for (let next = groups.splice(0, most); next.length > 0; next = groups.splice(0, most)) {
    const groupsOfKeys = next.map((buckets) => buckets.map((bucket) => epochKey(prefix, bucket)));
    const settled = await Promise.allSettled(groupsOfKeys.map(run));
    for (const [index, one] of settled.entries()) {
      if (one.status === 'fulfilled') answers.push(one.value);
      // Of several nodes another one may have it by now; whoever needs it asks there.
      else if (isAlone || !isElsewhere(one.reason)) throw one.reason;
      else if (!isMoved(one.reason)) leaves(groupsOfKeys[index] ?? []);
    }
  }
  // Nothing was done at all: it is this node that takes no commands.
  if (hasSome && answers.length === 0) throw new StoreFailure('no', 'unavailable');
  return answers;
}

export function wasNotDone(error: unknown): boolean {
  return error instanceof StoreFailure && error.carriedOut === 'no';
}

export function isElsewhere(error: unknown): boolean {
  const cause = wasNotDone(error) ? (error as StoreFailure).cause : undefined;
  return cause instanceof Error && /^(MOVED|ASK|TRYAGAIN)\b/.test(cause.message);
}

export function isMoved(error: unknown): boolean {
  return ((error as StoreFailure).cause as Error).message.startsWith('MOVED');
}

export function worst(a: Bounds, b: Bounds): Bounds {
  return {
    longestMs: Math.max(a.longestMs, b.longestMs),
    durability: b.durability === 'a' ? a.durability : b.durability,
    overlapMs: Math.max(a.overlapMs, b.overlapMs),
  };
}

/** It did nothing, since it ran too late. */
export const LATE = 'late';

export function readSweep([word, , , left, cause, longest, durability, overlap]: Reply[]):
  Sweep | typeof LATE {
  if (word === 'STALE') return LATE;
  return {
    leftUs: Number(left),
    cause: cause as string,
    longestMs: Number(longest),
    durability: durability as string,
    overlapMs: Number(overlap),
  };
}
