import type { StoreHealth } from '../base/store-health';
import type { AdminAnswer, AdminPages } from './admin-server';

/** The phase of the server. A server that starts or drains is not ready. */
export type Phase = 'starting' | 'serving' | 'draining';

/** The page of liveness probes. */
export const LIVENESS = '/livez';

export interface ProbedServer {
  readonly phase: Phase;
  /** Undefined: the server is not connected to the store yet. */
  readonly store: StoreHealth | undefined;
  /** The dictionaries of HOLDFAST_PRELOAD that are not loaded yet. */
  readonly unloadedCount: number;
}

const PHASES: Readonly<Record<Exclude<Phase, 'serving'>, string>> = {
  starting: 'the server is starting',
  draining: 'the server is draining',
};

/**
 * The pages for probes. `/livez` says that the process runs, in every state of the store, because a restart of the
 * server cannot repair the store. `/readyz` says what the health service says, with the reasons.
 */
export function probePages(server: ProbedServer): AdminPages {
  return {
    [LIVENESS]: () => json(200, { live: true }),
    '/readyz': () => {
      const reasons = whyNotReady(server);
      const ready = reasons.length === 0;
      // A quarantine stops grants, but renewals still need this server.
      const { quarantine } = server.store ?? {};
      const paused = quarantine && {
        grants: `paused: quarantine (${quarantine.cause}), ${Math.ceil(quarantine.remainingMs / 1000)} s left`,
      };
      return json(ready ? 200 : 503, { ready, ...(!ready && { reasons }), ...paused });
    },
  };
}

/** Whether the server accepts work, as health says. */
export function isReady(server: ProbedServer): boolean {
  return server.store !== undefined && whyNotReady(server).length === 0;
}

function whyNotReady({ phase, store, unloadedCount }: ProbedServer): string[] {
  const reasons: string[] = phase === 'serving' ? [] : [PHASES[phase]];
  if (store === undefined) return reasons;
  if (unloadedCount > 0)
    reasons.push(`dictionaries of HOLDFAST_PRELOAD that are not loaded yet: ${unloadedCount}`);
  if (!store.reachable) reasons.push('the store does not answer');
  else if (!store.suitable) reasons.push('the store may drop leases', ...store.warnings);
  return reasons;
}

function json(status: number, value: object): AdminAnswer {
  return { status, contentType: 'application/json', body: `${JSON.stringify(value)}\n` };
}
