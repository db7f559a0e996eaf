import { sharedNow } from './shared-clock';

/** The time since the deadline (ms). 0: the deadline has not passed. */
export function lateMs(deadline: number): number {
  return Math.max(0, Math.round(sharedNow() - deadline));
}

/** Says how a command has ended, and whether in time. */
export function endText(wasStopped: boolean, late: number): string {
  const end = wasStopped ? 'the command was ended' : 'the command has ended';
  if (late === 0) return wasStopped ? `${end} before the deadline` : `${end} by itself`;
  return `${end} ${late} ms after the deadline, so another holder may have worked at the same time`;
}
