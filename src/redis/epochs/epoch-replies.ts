import type { Quarantine, QuarantineCause } from '../../base/store-health';
import type { GuardedReply } from '../guarded-reply';
import type { Bounds } from './epoch-buckets';

/** Decodes the replies of the scripts that write epochs. The header comment of each script describes its reply. */

/** A pause of grants that a script found or began. */
export interface Pause {
  /** 0: grants do not pause. */
  readonly pauseMs: number;
  readonly cause: QuarantineCause;
}

export interface EndedPause extends Pause {
  /** Resolves when the replicas have this change, and all earlier changes of this run of Redis. */
  readonly confirm: () => Promise<void>;
}

export interface Adopted extends Bounds, Pause {}

/** The store has leases of another layout, and the script did nothing. */
export interface OtherLayout {
  /** The version of that layout; 0: an earlier layout without a version. */
  readonly otherLayout: number;
}

/** `late`: the script ran too late and did nothing. */
export function readAdopted({ word, pauseMs, values }: GuardedReply): Adopted | OtherLayout | 'late' {
  if (word === 'STALE') return 'late';
  if (word === 'LAYOUT') return { otherLayout: Number(values[0]) };
  const [, , cause, longestMs, durability, overlapMs] = values;
  return {
    pauseMs,
    cause: cause as QuarantineCause,
    longestMs: Number(longestMs),
    durability: durability as string,
    overlapMs: Number(overlapMs),
  };
}

export function readEnded({ pauseMs, values }: GuardedReply): Pause {
  const [, cause] = values;
  return { pauseMs, cause: cause as QuarantineCause };
}

/** The longest pause as a quarantine. Undefined: there was no pause. */
export function longestOf(pauses: readonly Pause[]): Quarantine | undefined {
  let longest: Quarantine | undefined;
  for (const { pauseMs, cause } of pauses) {
    if (pauseMs > (longest?.remainingMs ?? 0)) longest = { remainingMs: pauseMs, cause };
  }
  return longest;
}
