import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMicros } from '../../../support/history-recorder';
import { CallEnded } from '../../held';
import { StreamedLease } from './stream-session';
import type { Request, Worker } from './worker';

type Session = (worker: Worker, request: Request) => Promise<void>;

const WORK_MS = [1, 30] as const;
const LONG_WORK_MS = [300, 3500] as const;
const CANCEL_AFTER_MS = [1, 150] as const;
/** How long after its own deadline a client comes that does not look at its clock. */
const LATE_MS = [20, 500] as const;

/** Short work by unary calls. */
async function briefly(worker: Worker, request: Request): Promise<void> {
  const held = await worker.acquire(request);
  await sleep(worker.between(WORK_MS));
  await worker.release(held);
}

/** Long work by unary calls, renewed in time; with another ttl than granted, the shorter one of which changes nothing. */
async function renewing(worker: Worker, request: Request): Promise<void> {
  let held = await worker.acquire(request);
  const until = performance.now() + worker.between(LONG_WORK_MS);
  while (performance.now() < until) {
    await sleep(Math.min(held.ttlUs / 3000, until - performance.now()));
    const ttlMs = worker.happens(40) ? 100 + worker.between([0, held.ttlUs / 1000]) : undefined;
    const renewed = await worker.again(() => worker.servers.current.renew(held, ttlMs)).catch(gone);
    if (renewed === undefined) return;
    held = renewed;
  }
  if (worker.happens(80)) await worker.release(held);
}

/** Does not wait. */
async function atOnce(worker: Worker, request: Request): Promise<void> {
  await briefly(worker, { ...request, waitMs: 0 });
}

/** Short work by a stream. */
async function streaming(worker: Worker, request: Request): Promise<void> {
  const lease = await StreamedLease.open(worker, request);
  await lease.keep(worker.between(WORK_MS));
  await lease.release();
}

/** Work that takes longer than the ttl, by a stream; it may be taken over in the middle by another one. */
async function streamingLong(worker: Worker, request: Request): Promise<void> {
  const lease = await StreamedLease.open(worker, request);
  if (worker.happens(25)) await lease.reattach();
  const kept = await lease.keep(worker.between(LONG_WORK_MS));
  if (kept || worker.happens(50)) await lease.release();
  else await lease.abandon();
}

/** Gives the wait up after a moment; what it got by then is left to its ttl. */
async function cancelling(worker: Worker, request: Request): Promise<void> {
  const stream = worker.servers.current.hold(request);
  await sleep(worker.between(CANCEL_AFTER_MS));
  stream.cancel();
  await stream.ended;
}

/** Walks away from a lease and says nothing. */
async function walkingAway(worker: Worker, request: Request): Promise<void> {
  const lease = await StreamedLease.open(worker, request);
  await lease.keep(worker.between(WORK_MS));
  await lease.abandon();
}

/** Comes back to its lease when that is over, as a program does that was paused, and renews and releases it. */
async function comingLate(worker: Worker, request: Request): Promise<void> {
  const held = await worker.acquire({ ...request, ttlMs: worker.between([150, 500]) });
  await sleep(Math.max(0, (held.deadline - monotonicMicros()) / 1000) + worker.between(LATE_MS));
  if (worker.happens(60)) await worker.again(() => worker.servers.current.renew(held)).catch(gone);
  await worker.release(held);
}

/** Sends its request again while it holds, at another server, and once more when it has ended. */
async function repeating(worker: Worker, request: Request): Promise<void> {
  const held = await worker.acquire(request);
  worker.servers.next();
  const again = await worker.acquire(request).catch(gone);
  await sleep(worker.between(WORK_MS));
  await worker.release(again ?? held);
  if (worker.happens(50)) await worker.servers.current.release(held);
  if (worker.happens(50)) await worker.acquire(request).catch(gone);
}

/** Holds by unary calls, then by a stream that asks with the same id; the unary lease and the stream's are one. */
async function takingOver(worker: Worker, request: Request): Promise<void> {
  await worker.acquire(request);
  worker.servers.next();
  const lease = await StreamedLease.open(worker, request);
  await lease.keep(worker.between(LONG_WORK_MS) / 2);
  await lease.release();
}

/** How often of a hundred each is chosen. */
const SESSIONS: readonly (readonly [number, Session])[] = [
  [46, briefly],
  [3, renewing],
  [18, atOnce],
  [22, streaming],
  [3, streamingLong],
  [7, cancelling],
  [2, walkingAway],
  [2, comingLate],
  [7, repeating],
  [2, takingOver],
];

export function pickSession(worker: Worker): Session {
  let left = worker.random() * SESSIONS.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, session] of SESSIONS) {
    left -= weight;
    if (left < 0) return session;
  }
  return briefly;
}

/** The lease or the request is over; that is an answer too. */
function gone(error: unknown): undefined {
  const reasons = ['LEASE_NOT_HELD', 'REQUEST_FINISHED'];
  if (error instanceof CallEnded && reasons.includes(error.ending.reason ?? '')) return undefined;
  throw error;
}
