import type { Lost, Micros } from '../history';
import type { Timeline } from './timeline';
import type { Grant } from './timeline-types';
import type { CheckOptions } from './violation';

/** The answer with the latest deadline before an instant, of one call or of all calls. */
export function lastAnswer(grant: Grant, before: number, call?: string): Grant['answers'][number] {
  let last: Grant['answers'][number] | null = null;
  for (const answer of grant.answers) {
    if (answer.at > before || (call !== undefined && answer.call !== call)) continue;
    if (last === null || answer.deadline > last.deadline) last = answer;
  }
  return last ?? grant.received;
}

/**
 * True if a short lease may have expired because the machine was slow. The server must report LOST at the last
 * confirmed end, and the end in the store may be later. A stream renews every third of the ttl, so quick answers to all
 * other calls prove that its renewal would have been answered in time.
 */
export function ranOut(grant: Grant, lost: Lost, timeline: Timeline, options: CheckOptions): boolean {
  if (lost.cause !== 'EXPIRED' && lost.cause !== 'STORE_UNAVAILABLE') return false;
  return hasRunOut(lastAnswer(grant, lost.at, lost.call), lost.at, timeline, options);
}

/** The same for the last answer before the end of a lease. */
export function hasRunOut(
  last: Grant['answers'][number],
  at: Micros,
  timeline: Timeline,
  { latencyUs }: CheckOptions,
): boolean {
  if (last.deadline - last.at >= latencyUs) return false;
  return !timeline.pace.wasQuick(at - last.ttlUs, at, last.ttlUs / 3);
}
