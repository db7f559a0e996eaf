import type { Behaviour } from './behaviour';
import type { Holding } from './resource';

const LONGEST_PERIOD_MS = 10_000;

/** What a lease asks of the session that holds it. */
export interface Renewer {
  readonly lastHeartbeatAt: () => number;
  /** False: the session has ended, or another session has the lease. */
  readonly isHere: () => boolean;
  readonly renew: () => void;
}

/** Renews a lease as the real server does: while the last heartbeat, or the grant, is young enough. */
export function renewWhileHeld(
  held: Holding,
  behaviour: Behaviour,
  grantedAt: number,
  renewer: Renewer,
): void {
  const { ttlMs } = held.wanted;
  const timer = setInterval(
    () => {
      if (!renewer.isHere()) return clearInterval(timer);
      const { renew, silent, heartbeatTimeoutMs } = behaviour;
      const age = performance.now() - Math.max(renewer.lastHeartbeatAt(), grantedAt);
      if (renew && !silent && age < Math.min(heartbeatTimeoutMs, ttlMs)) renewer.renew();
    },
    Math.min(ttlMs / 3, LONGEST_PERIOD_MS),
  );
  timer.unref();
}
