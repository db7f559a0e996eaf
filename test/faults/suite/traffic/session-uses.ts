import { setTimeout as sleep } from 'node:timers/promises';
import type { SessionWanted } from '../../sessions/session-record';
import type { SessionUser } from './session-user';

type Use = (user: SessionUser, wanted: SessionWanted) => Promise<void>;

const WORK_MS = [1, 30] as const;
const LONG_WORK_MS = [300, 5000] as const;
const LARGE_WORK_MS = [3000, 20_000] as const;
const CANCEL_AFTER_MS = [1, 150] as const;

/** Holds for a short time. */
async function briefly(user: SessionUser, wanted: SessionWanted): Promise<void> {
  const lease = await user.acquire(wanted);
  await user.work(lease, user.between(WORK_MS));
  await user.client.release(lease);
}

/** Holds for longer than the ttl. */
async function long(user: SessionUser, wanted: SessionWanted): Promise<void> {
  const lease = await user.acquire(wanted);
  await user.work(lease, user.between(user.isLarge ? LARGE_WORK_MS : LONG_WORK_MS));
  await user.client.release(lease);
}

/** Requests without waiting. */
async function atOnce(user: SessionUser, wanted: SessionWanted): Promise<void> {
  await briefly(user, { ...wanted, waitMs: 0 });
}

/** Cancels a wait after a short time. The client releases a lease that was granted before the cancellation. */
async function cancelling(user: SessionUser, { waitMs: _, ...wanted }: SessionWanted): Promise<void> {
  const request = user.client.acquire(wanted);
  await sleep(user.between(CANCEL_AFTER_MS));
  user.client.cancel(request);
  const lease = await request.outcome;
  await user.client.release(lease);
}

/** Attaches again in the same session. */
async function attaching(user: SessionUser, wanted: SessionWanted): Promise<void> {
  const lease = await user.acquire(wanted);
  await user.work(lease, user.between(WORK_MS));
  user.client.attachAgain(lease);
  await user.work(lease, user.between(LONG_WORK_MS));
  await user.client.release(lease);
}

/** Replaces the metadata, and sends the release twice. */
async function updating(user: SessionUser, wanted: SessionWanted): Promise<void> {
  const lease = await user.acquire(wanted);
  await user.client.update(lease, new Map([['step', '2']]));
  await user.work(lease, user.between(WORK_MS));
  await user.client.release(lease);
  await user.client.release(lease);
}

/** The relative frequency of each use. */
const USES: readonly (readonly [number, Use])[] = [
  [40, briefly],
  [25, long],
  [10, atOnce],
  [10, cancelling],
  [8, attaching],
  [7, updating],
];
const LARGE_USES: readonly (readonly [number, Use])[] = [
  [90, long],
  [5, attaching],
  [5, cancelling],
];

export function pickUse(user: SessionUser): Use {
  const uses = user.isLarge ? LARGE_USES : USES;
  let left = user.random() * uses.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, use] of uses) {
    left -= weight;
    if (left < 0) return use;
  }
  return briefly;
}
