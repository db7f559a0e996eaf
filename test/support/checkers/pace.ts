import type { Ended, Micros } from '../history';
import type { Grant } from './timeline';

/** Short against a third of the shortest ttl. */
const SLICE: Micros = 50_000;

/**
 * How fast the service answered, and when: by its renewals and releases, which wait for nobody. What slows those down
 * (a machine that is busy, a server or a store that stands still) slows down a stream's renewals too.
 */
export class Pace {
  /** By slice of time, the longest that a call took which was under way in it. */
  private readonly longest = new Map<number, Micros>();

  constructor(grants: readonly Grant[]) {
    for (const { renewals, releases } of grants) {
      for (const { asked, answer, ended } of [...renewals, ...releases]) {
        if (answer !== null) this.add(asked.at, answer.at, answer.at - asked.at);
        else if (ended !== null)
          this.add(asked.at, ended.at, isAnswer(ended) ? ended.at - asked.at : Infinity);
      }
    }
  }

  /** Whether calls were under way all the time but for less than `limit`, and each of them took less than that. */
  wasQuick(from: Micros, to: Micros, limit: Micros): boolean {
    if (limit < SLICE) return false; // nobody looked so closely
    let unseen = 0;
    for (let slice = sliceOf(from); slice <= sliceOf(to); slice += 1) {
      const longest = this.longest.get(slice);
      unseen = longest === undefined ? unseen + SLICE : 0;
      if ((longest ?? 0) >= limit || unseen >= limit) return false;
    }
    return true;
  }

  private add(from: Micros, to: Micros, took: Micros): void {
    for (let slice = sliceOf(from); slice <= sliceOf(to); slice += 1) {
      this.longest.set(slice, Math.max(this.longest.get(slice) ?? 0, took));
    }
  }
}

/** Any other failure says, however soon, that renewing was not possible. */
function isAnswer({ reason }: Ended): boolean {
  return reason === 'LEASE_NOT_HELD';
}

function sliceOf(at: Micros): number {
  return Math.floor(at / SLICE);
}
