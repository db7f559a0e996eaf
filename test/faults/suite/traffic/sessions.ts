import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMicros } from '../../../support/history-recorder';
import { CallEnded } from '../../held';
import { StreamedLease } from './stream-session';
import type { Request, Worker } from './worker';

type Session = (worker: Worker, request: Request) => Promise<void>;

const WORK_MS = [1, 30] as const;
const LONG_WORK_MS = [300, 3500] as const;
const CANCEL_AFTER_MS = [1, 150] as const;
/** The time after its deadline at which a client that ignores its clock comes back (ms). */
const LATE_MS = [20, 500] as const;

/** Holds for a short time with unary calls. */
async function briefly(worker: Worker, request: Request): Promise<void> {
  const held = await worker.acquire(request);
  await sleep(worker.between(WORK_MS));
  await worker.release(held);
}

/** Holds for a long time with unary renewals. Some renewals have another ttl, and a shorter ttl must change nothing. */
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

/** Requests without waiting. */
async function atOnce(worker: Worker, request: Request): Promise<void> {
  await briefly(worker, { ...request, waitMs: 0 });
}

/** Holds for a short time with a stream. */
async function streaming(worker: Worker, request: Request): Promise<void> {
  const lease = await StreamedLease.open(worker, request);
  await lease.keep(worker.between(WORK_MS));
  await lease.release();
}

/** Holds for longer than the ttl with a stream, which another stream may take over. */
async function streamingLong(worker: Worker, request: Request): Promise<void> {
  const lease = await StreamedLease.open(worker, request);
  if (worker.happens(25)) await lease.reattach();
  const kept = await lease.keep(worker.between(LONG_WORK_MS));
  if (kept || worker.happens(50)) await lease.release();
  else await lease.abandon();
}

/** Cancels a wait after a short time. A lease that was granted before the cancellation expires. */
async function cancelling(worker: Worker, request: Request): Promise<void> {
  const stream = worker.servers.current.hold(request);
  await sleep(worker.between(CANCEL_AFTER_MS));
  stream.cancel();
  await stream.ended;
}

/** Abandons a lease without a release. */
async function abandoning(worker: Worker, request: Request): Promise<void> {
  const lease = await StreamedLease.open(worker, request);
  await lease.keep(worker.between(WORK_MS));
  await lease.abandon();
}

/** Renews and releases a lease after its deadline, as a paused program does. */
async function comingLate(worker: Worker, request: Request): Promise<void> {
  const held = await worker.acquire({ ...request, ttlMs: worker.between([150, 500]) });
  await sleep(Math.max(0, (held.deadline - monotonicMicros()) / 1000) + worker.between(LATE_MS));
  if (worker.happens(60)) await worker.again(() => worker.servers.current.renew(held)).catch(gone);
  await worker.release(held);
}

/** Repeats the request at another server while the lease is held, and again after the end of the lease. */
async function repeating(worker: Worker, request: Request): Promise<void> {
  const held = await worker.acquire(request);
  worker.servers.next();
  const again = await worker.acquire(request).catch(gone);
  await sleep(worker.between(WORK_MS));
  await worker.release(again ?? held);
  if (worker.happens(50)) await worker.servers.current.release(held);
  if (worker.happens(50)) await worker.acquire(request).catch(gone);
}

/** Acquires with a unary call, then opens a stream with the same request id for the same lease. */
async function takingOver(worker: Worker, request: Request): Promise<void> {
  await worker.acquire(request);
  worker.servers.next();
  const lease = await StreamedLease.open(worker, request);
  await lease.keep(worker.between(LONG_WORK_MS) / 2);
  await lease.release();
}

/**
 * Opens two streams of one request at one server. The first waits for a lease of this worker, which is released just before
 * the second is opened.
 */
async function askingTwice(worker: Worker, request: Request): Promise<void> {
  const before = await worker.acquire({ ...request, requestId: randomUUID() });
  const lease = await StreamedLease.openTwice(worker, request, () => worker.release(before));
  const kept = await lease.keep(worker.between(LONG_WORK_MS) / 2);
  if (kept) await lease.release();
  else await lease.abandon();
}

/** The relative frequency of each session. */
const SESSIONS: readonly (readonly [number, Session])[] = [
  [46, briefly],
  [3, renewing],
  [18, atOnce],
  [22, streaming],
  [3, streamingLong],
  [7, cancelling],
  [2, abandoning],
  [2, comingLate],
  [7, repeating],
  [2, takingOver],
  [3, askingTwice],
];

export function pickSession(worker: Worker): Session {
  let left = worker.random() * SESSIONS.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, session] of SESSIONS) {
    left -= weight;
    if (left < 0) return session;
  }
  return briefly;
}

/** Accepts the error that the lease or the request has ended, and throws all other errors. */
function gone(error: unknown): undefined {
  const reasons = ['LEASE_NOT_HELD', 'REQUEST_FINISHED'];
  if (error instanceof CallEnded && reasons.includes(error.ending.reason ?? '')) return undefined;
  throw error;
}
