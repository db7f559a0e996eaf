import type { Ended, Micros } from '../history';
import type { Grant } from './timeline-types';

/** The length of a slice of time, much shorter than a third of the shortest ttl. */
const SLICE: Micros = 50_000;

/**
 * The pace at which the service answered renewals and releases. Both never wait in a queue, so a slow answer shows a
 * busy machine or a stalled server or store, which delays the renewals of streams too.
 */
export class Pace {
  /** The longest duration of a call in flight, for each slice of time. */
  private readonly longest = new Map<number, Micros>();
  /** The same, without calls that failed and calls of paused clients. */
  private readonly longestAnswered = new Map<number, Micros>();

  /** `wasPaused`: whether the client itself was paused between the two instants. */
  constructor(grants: readonly Grant[], wasPaused: (client: string, from: Micros, to: Micros) => boolean) {
    for (const { renewals, releases } of grants) {
      for (const { asked, answer, ended } of [...renewals, ...releases]) {
        const reply = answer ?? (ended !== null && isAnswer(ended) ? ended : null);
        if (reply !== null) {
          add(this.longest, asked.at, reply.at, reply.at - asked.at);
          if (!wasPaused(asked.client, asked.at, reply.at))
            add(this.longestAnswered, asked.at, reply.at, reply.at - asked.at);
        } else if (ended !== null) add(this.longest, asked.at, ended.at, Infinity);
      }
    }
  }

  /** True if every call in flight took less than `limit`, without a gap of `limit` between calls. */
  wasQuick(from: Micros, to: Micros, limit: Micros): boolean {
    if (limit < SLICE) return false; // The slices are too coarse to prove a gap below SLICE.
    let gap = 0;
    for (let slice = sliceOf(from); slice <= sliceOf(to); slice += 1) {
      const longest = this.longest.get(slice);
      gap = longest === undefined ? gap + SLICE : 0;
      if ((longest ?? 0) >= limit || gap >= limit) return false;
    }
    return true;
  }

  /** True if an answered call in flight took at least `limit`. A paused client does not show a slow service. */
  wasSlow(from: Micros, to: Micros, limit: Micros): boolean {
    for (let slice = sliceOf(from); slice <= sliceOf(to); slice += 1) {
      if ((this.longestAnswered.get(slice) ?? 0) >= limit) return true;
    }
    return false;
  }
}

function add(longest: Map<number, Micros>, from: Micros, to: Micros, took: Micros): void {
  for (let slice = sliceOf(from); slice <= sliceOf(to); slice += 1) {
    longest.set(slice, Math.max(longest.get(slice) ?? 0, took));
  }
}

/** True if a failure is a normal answer. Other failures show that renewals were impossible at that time. */
function isAnswer({ reason }: Ended): boolean {
  return reason === 'LEASE_NOT_HELD';
}

function sliceOf(at: Micros): number {
  return Math.floor(at / SLICE);
}
