import { setTimeout as sleep } from 'node:timers/promises';
import type { Member } from './fleet';
import { CallEnded, type Held } from './held';
import type { EitherWanted } from '../support/clients/either-client';
import type { RecordedClient } from './recorded-client';

type Request = EitherWanted & { readonly requestId: string };

const PAUSE_MS = 50;
const MOST_TRIES = 200;
const LONGEST_WAIT_MS = 30_000;

/** What the contract tells clients to do: after UNAVAILABLE the same request again, at another server. */
export async function again<T>(
  client: { moveTo(address: string): void },
  fallback: Pick<Member, 'address'>,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      const retry = error instanceof CallEnded && error.ending.code === 'UNAVAILABLE';
      if (!retry || tries === MOST_TRIES) throw error;
      client.moveTo(fallback.address);
      await sleep(PAUSE_MS);
    }
  }
}

/** Waits for a lease by streams. */
export function holdPatiently(
  client: RecordedClient,
  wanted: Request,
  fallback: Pick<Member, 'address'>,
): Promise<Held> {
  return again(client, fallback, () => client.hold(wanted).granted(LONGEST_WAIT_MS));
}

/** Waits for a lease by unary calls. */
export function acquirePatiently(
  client: RecordedClient,
  wanted: Request,
  fallback: Pick<Member, 'address'>,
): Promise<Held> {
  return again(client, fallback, () => client.acquire(wanted));
}
