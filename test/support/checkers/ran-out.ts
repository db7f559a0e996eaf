import type { Lost } from '../history';
import type { Grant, Timeline } from './timeline';
import type { CheckOptions } from './violation';

/** The answer with the latest deadline by then: of one call, or of all. */
export function lastAnswer(grant: Grant, before: number, call?: string): Grant['answers'][number] {
  let last: Grant['answers'][number] | null = null;
  for (const answer of grant.answers) {
    if (answer.at > before || (call !== undefined && answer.call !== call)) continue;
    if (last === null || answer.deadline > last.deadline) last = answer;
  }
  return last ?? grant.received;
}

/**
 * What had less left than a slow machine takes for an answer may run out before its next renewal is answered: its server
 * has to say so at the last end it was sure of, and the store's own may be later. A stream renews each third of the ttl,
 * so where all calls were answered sooner than that, this one would have been, too.
 */
export function ranOut(grant: Grant, lost: Lost, timeline: Timeline, { latencyUs }: CheckOptions): boolean {
  if (lost.cause !== 'EXPIRED' && lost.cause !== 'STORE_UNAVAILABLE') return false;
  const last = lastAnswer(grant, lost.at, lost.call);
  if (last.deadline - last.at >= latencyUs) return false;
  return !timeline.pace.wasQuick(lost.at - last.ttlUs, lost.at, last.ttlUs / 3);
}
