import { setTimeout as sleep } from 'node:timers/promises';
import type { Member } from './fleet';
import { CallEnded, type Held } from './held';
import type { EitherWanted } from '../support/clients/lease-client';
import type { RecordedClient } from './recorded-client';

type Request = EitherWanted & { readonly requestId: string };

const PAUSE_MS = 50;
const MAX_ATTEMPTS = 200;
const GRANT_TIMEOUT_MS = 30_000;

/** Repeats an attempt at another server after UNAVAILABLE, as the contract asks of clients. */
export async function retryElsewhere<T>(
  client: { moveTo(address: string): void },
  fallback: Pick<Member, 'address'>,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt();
    } catch (error) {
      const retry = error instanceof CallEnded && error.ending.code === 'UNAVAILABLE';
      if (!retry || attempts === MAX_ATTEMPTS) throw error;
      client.moveTo(fallback.address);
      await sleep(PAUSE_MS);
    }
  }
}

/** Waits for a lease with hold streams. */
export function holdWithRetries(
  client: RecordedClient,
  request: Request,
  fallback: Pick<Member, 'address'>,
): Promise<Held> {
  return retryElsewhere(client, fallback, () => client.hold(request).granted(GRANT_TIMEOUT_MS));
}

/** Waits for a lease with unary calls. */
export function acquireWithRetries(
  client: RecordedClient,
  request: Request,
  fallback: Pick<Member, 'address'>,
): Promise<Held> {
  return retryElsewhere(client, fallback, () => client.acquire(request));
}
