import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { SHORT_TTL_MS, SLOW_MS } from '../../end-to-end/in-process-server';
import { ServerPair, untilWaiterCount } from '../../end-to-end/server-pair';
import { refusal } from '../../support/clients/calls';
import { type LockClient, ms } from '../../support/clients/lease-client';
import type { HoldStream } from '../../support/clients/streams';
import { eventually } from '../../support/eventually';

let pair: ServerPair;
let client: LockClient;
let elsewhere: LockClient;

beforeAll(async () => {
  pair = await ServerPair.start();
  client = pair.first.client();
  elsewhere = pair.second.client();
});

afterAll(() => pair?.close());

test.concurrent('a stream that holds a lock sends granted as its first event for a free lock', async () => {
  const requestId = randomUUID();
  const stream = client.hold({ name: 'free', ttlMs: 3000, requestId });
  const { lease } = await stream.next('granted');
  expect(lease).toMatchObject({
    name: 'free',
    requestId,
    permitCount: 1,
    ttl: { seconds: 3n, nanos: 0 },
  });
  expect(lease?.leaseId).toMatch(/^[A-Za-z0-9_-]+$/);
  expect(ms(lease?.expireOffset)).toBeGreaterThan(2950);
  stream.cancel();
});

test.concurrent(
  'a stream that holds a lock sends renewed every third of the ttl, with an expire_offset from the opening call',
  async () => {
    const stopwatch = pair.stopwatch();
    const stream = client.hold({ name: 'renewing', ttlMs: 3000 });
    const { lease } = await stream.next('granted');
    let before = ms(lease?.expireOffset);
    for (let round = 0; round < 3; round += 1) {
      const { expireOffset } = await stream.next('renewed');
      const step = ms(expireOffset) - before;
      expect(step).toBeGreaterThan(1000 - 5);
      expect(step).toBeLessThan(1000 + SLOW_MS + stopwatch.coreWaitMs);
      // The new end is about one ttl after the event.
      const left = stream.openedAt + ms(expireOffset) - (stream.received.at(-1)?.at ?? NaN);
      expect(left).toBeGreaterThan(3000 - SLOW_MS - stopwatch.coreWaitMs);
      expect(left).toBeLessThan(3000);
      before = ms(expireOffset);
    }
    stream.cancel();
  },
);

test.concurrent(
  'a stream that holds a lock sends released and ends OK when its lease is released',
  async () => {
    const stream = client.hold({ name: 'released', ttlMs: 20_000 });
    const { lease } = await stream.next('granted');
    const stopwatch = pair.stopwatch();
    expect((await client.release(lease?.leaseId ?? '')).released).toBe(true);
    expect(await stream.next('released')).toEqual({});
    expect(stopwatch.chargedMs).toBeLessThan(SLOW_MS);
    expect((await stream.ending).code).toBe('OK');
    expect(stream.kinds).toEqual(['granted', 'released']);
  },
);

test.concurrent(
  'a stream that holds a lock leaves its lease for one ttl after its client has disconnected',
  async () => {
    const name = 'gone';
    const stopwatch = pair.stopwatch();
    const stream = client.hold({ name, ttlMs: 2100 });
    const { expireOffset } = await stream.until('renewed');
    stream.cancel();
    await client.acquire({ name, waitMs: 20_000 });
    // The holder may work until its deadline after its connection is broken.
    const afterDeadline = performance.now() - (stream.openedAt + ms(expireOffset));
    expect(afterDeadline).toBeGreaterThan(0);
    expect(afterDeadline).toBeLessThan(SLOW_MS + stopwatch.coreWaitMs);
  },
);

test.concurrent('a stream that holds a lock renews with the longer ttl after a RenewLock call', async () => {
  const stream = client.hold({ name: 'prolonged', ttlMs: 2100 });
  const { lease } = await stream.next('granted');
  await client.renew(lease?.leaseId ?? '', 20_000);
  const answeredAt = performance.now() - stream.openedAt;
  for (;;) {
    // An event with the old ttl may still be in flight.
    const offset = ms((await stream.next('renewed')).expireOffset);
    if (offset > answeredAt + 2100) {
      expect(offset).toBeGreaterThan(19_000);
      break;
    }
  }
  stream.cancel();
});

test.concurrent(
  'a stream that waits for a lock sends queued immediately, with position, waiter count and holder',
  async () => {
    const name = 'queued';
    const holder = await client.acquire({
      name,
      ttlMs: 20_000,
      holderId: 'alice',
      metadata: { at: 'work' },
    });
    const requestId = randomUUID();
    const queuing = pair.stopwatch();
    const stream = client.hold({ name, ttlMs: 20_000, requestId });
    const queued = await stream.next('queued');
    expect(queuing.chargedMs).toBeLessThan(SLOW_MS);
    expect(queued).toMatchObject({ requestId, position: 1, waiterCount: 1 });
    expect(queued.holder).toMatchObject({
      holderId: 'alice',
      metadata: new Map([['at', 'work']]),
      fencingToken: holder.fencingToken,
      permitCount: 1,
    });
    const stopwatch = pair.stopwatch();
    await client.release(holder.leaseId);
    const { lease } = await stream.next('granted');
    expect(stopwatch.chargedMs).toBeLessThan(SLOW_MS);
    expect(lease?.fencingToken).toBeGreaterThan(holder.fencingToken);
    stream.cancel();
  },
);

test.concurrent(
  'a stream that waits for a lock sends queued again when its position has changed, at most every 2 s',
  async () => {
    const name = 'moving up';
    const holder = await client.acquire({ name, ttlMs: 20_000 });
    const ahead = client.hold({ name });
    await untilWaiterCount(client, name, 1);
    const stopwatch = pair.stopwatch();
    const stream = client.hold({ name });
    expect(await stream.next('queued')).toMatchObject({ position: 2, waiterCount: 2 });
    await sleep(300);
    ahead.cancel();
    // The server learns of the change immediately, and sends the event 2 s after its previous event.
    expect(await stream.next('queued')).toMatchObject({ position: 1, waiterCount: 1 });
    expect(stopwatch.elapsedMs).toBeGreaterThan(2000);
    expect(stopwatch.chargedMs).toBeLessThan(3000 + SLOW_MS);
    await client.release(holder.leaseId);
    await stream.next('granted');
    stream.cancel();
  },
);

test.concurrent(
  'a stream that waits for a lock ends with CONTENDED at its wait_timeout, and without any event if wait_timeout is 0',
  async () => {
    const name = 'given up';
    await client.acquire({ name, ttlMs: 20_000, holderId: 'alice' });
    const once = client.hold({ name, waitMs: 0 });
    expect(await once.ending).toMatchObject({
      code: 'ABORTED',
      reason: 'CONTENDED',
      metadata: { holder_id: 'alice', waiter_count: '0' },
    });
    expect(once.kinds).toEqual([]);
    const patient = client.hold({ name, waitMs: 400 });
    expect(await patient.ending).toMatchObject({ code: 'ABORTED', reason: 'CONTENDED' });
    expect(performance.now() - patient.openedAt).toBeGreaterThanOrEqual(399);
    expect(patient.kinds).toEqual(['queued']);
  },
);

test.concurrent(
  'a stream that waits for a lock leaves the queue when its client has disconnected',
  async () => {
    const name = 'skipped';
    const holder = await client.acquire({ name, ttlMs: 20_000 });
    const leaving = client.hold({ name });
    await leaving.next('queued');
    const next = client.hold({ name });
    expect(await next.next('queued')).toMatchObject({ position: 2 });
    leaving.cancel();
    await untilWaiterCount(client, name, 1);
    const stopwatch = pair.stopwatch();
    await client.release(holder.leaseId);
    await next.until('granted');
    expect(stopwatch.chargedMs).toBeLessThan(SLOW_MS);
    next.cancel();
  },
);

test.concurrent(
  'a stream that waits for a lock ends with REQUEST_FINISHED if its request_id belongs to an ended lease',
  async () => {
    const { requestId, leaseId } = await client.acquire({ name: 'over', ttlMs: 20_000 });
    await client.release(leaseId);
    const stream = client.hold({ name: 'over', requestId });
    expect(await stream.ending).toMatchObject({ code: 'FAILED_PRECONDITION', reason: 'REQUEST_FINISHED' });
    expect(stream.kinds).toEqual([]);
  },
);

test.concurrent('streams and unary calls wait in one queue', async () => {
  const name = 'one queue';
  const first = await client.acquire({ name, ttlMs: 20_000 });
  const stream = client.hold({ name, ttlMs: 20_000 });
  await stream.next('queued');
  const unary = client.acquire({ name, waitMs: 10_000 });
  await untilWaiterCount(client, name, 2);
  await client.release(first.leaseId);
  const { lease } = await stream.until('granted');
  expect(await refusal(client.acquire({ name, waitMs: 0 }))).toMatchObject({ reason: 'CONTENDED' });
  await client.release(lease?.leaseId ?? '');
  expect((await unary).fencingToken).toBeGreaterThan(lease?.fencingToken ?? 0n);
});

async function lease(stream: HoldStream) {
  const { lease: granted } = await stream.until('granted');
  if (granted === undefined) throw new Error('granted without a lease');
  return granted;
}

test.concurrent(
  'HoldLock with a lease_id sends granted first, with the same lease and fencing token, and an expire_offset from this call',
  async () => {
    const first = await client.acquire({ name: 'unary', ttlMs: 2000 });
    await sleep(300);
    const stream = elsewhere.attach(first.leaseId);
    const granted = (await stream.next('granted')).lease;
    expect(granted).toMatchObject({
      leaseId: first.leaseId,
      fencingToken: first.fencingToken,
      requestId: first.requestId,
      name: 'unary',
    });
    // An attach renews the lease.
    expect(ms(granted?.expireOffset)).toBeGreaterThan(1990);
    await stream.next('renewed');
    await sleep(1700);
    expect((await client.get('unary')).holders[0]?.fencingToken).toBe(first.fencingToken);
    stream.cancel();
  },
);

test.concurrent.each(['the same server', 'another server'])(
  'HoldLock with a lease_id ends the older stream on %s with SUPERSEDED',
  async (where) => {
    const name = `older on ${where}`;
    const older = client.hold({ name, ttlMs: 3000 });
    const granted = await lease(older);
    const stopwatch = pair.stopwatch();
    const newer = (where === 'another server' ? elsewhere : client).attach(granted.leaseId);
    const again = await lease(newer);
    expect(again.fencingToken).toBe(granted.fencingToken);
    expect(await older.ending).toMatchObject({ code: 'ABORTED', reason: 'SUPERSEDED' });
    expect(stopwatch.chargedMs).toBeLessThan(SLOW_MS);
    expect(older.kinds.filter((kind) => kind === 'lost' || kind === 'released')).toEqual([]);
    // The end of the older stream did not change the lease.
    await newer.until('renewed');
    await sleep(2500);
    expect((await client.get(name)).holders[0]?.fencingToken).toBe(granted.fencingToken);
    newer.cancel();
  },
);

test.concurrent(
  'HoldLock with a lease_id answers LEASE_NOT_HELD with the cause for an ended lease',
  async () => {
    const released = await client.acquire({ name: 'ended', ttlMs: 20_000 });
    await client.release(released.leaseId);
    const expired = await client.acquire({ name: 'ended', ttlMs: SHORT_TTL_MS });
    await eventually('the expiry', async () => (await client.get('ended')).holderCount === 0);
    for (const [{ leaseId }, cause] of [
      [released, 'RELEASED'],
      [expired, 'EXPIRED'],
    ] as const) {
      const stream = client.attach(leaseId);
      expect(await stream.ending).toMatchObject({
        code: 'NOT_FOUND',
        reason: 'LEASE_NOT_HELD',
        metadata: { cause },
      });
      expect(stream.kinds).toEqual([]);
    }
    expect((await client.get('ended')).holderCount).toBe(0);
  },
);

test.concurrent(
  'HoldLock with a lease_id sends released when another server releases the lease',
  async () => {
    const first = await client.acquire({ name: 'released elsewhere', ttlMs: 20_000 });
    const stream = elsewhere.attach(first.leaseId);
    await stream.next('granted');
    const stopwatch = pair.stopwatch();
    await client.release(first.leaseId);
    await stream.next('released');
    expect(stopwatch.chargedMs).toBeLessThan(SLOW_MS);
    expect((await stream.ending).code).toBe('OK');
  },
);

test.concurrent('HoldLock with a request_id attaches to the lease of a unary call', async () => {
  const requestId = randomUUID();
  const first = await client.acquire({ name: 'held unary', ttlMs: 2000, requestId });
  const stream = elsewhere.hold({ name: 'held unary', ttlMs: 2000, requestId });
  const granted = (await stream.next('granted')).lease;
  expect(granted?.leaseId).toBe(first.leaseId);
  expect(granted?.fencingToken).toBe(first.fencingToken);
  await sleep(2300);
  expect((await client.get('held unary')).holders[0]?.fencingToken).toBe(first.fencingToken);
  stream.cancel();
});

test.concurrent(
  'HoldLock with a request_id takes over the lease of another stream, which ends with SUPERSEDED',
  async () => {
    const requestId = randomUUID();
    const older = client.hold({ name: 'held stream', ttlMs: 2000, requestId });
    const granted = await lease(older);
    const newer = elsewhere.hold({ name: 'held stream', ttlMs: 2000, requestId });
    expect((await newer.next('granted')).lease?.fencingToken).toBe(granted.fencingToken);
    expect(await older.ending).toMatchObject({ code: 'ABORTED', reason: 'SUPERSEDED' });
    newer.cancel();
  },
);

test.concurrent(
  'HoldLock with a request_id keeps the place of a waiting request, even on another server',
  async () => {
    const name = 'wait taken over';
    const holder = await client.acquire({ name, ttlMs: 20_000 });
    const requestId = randomUUID();
    const older = client.hold({ name, requestId });
    expect(await older.next('queued')).toMatchObject({ position: 1, requestId });
    const second = client.hold({ name });
    expect(await second.next('queued')).toMatchObject({ position: 2 });
    const newer = elsewhere.hold({ name, requestId });
    expect(await newer.next('queued')).toMatchObject({ position: 1, waiterCount: 2, requestId });
    expect(await older.ending).toMatchObject({ code: 'ABORTED', reason: 'SUPERSEDED' });
    await client.release(holder.leaseId);
    const granted = await lease(newer);
    await client.release(granted.leaseId);
    expect((await lease(second)).fencingToken).toBeGreaterThan(granted.fencingToken);
    second.cancel();
  },
);

test.concurrent(
  'HoldLock with a request_id keeps the place of a waiting stream that was cancelled',
  async () => {
    const name = 'wait resumed';
    const holder = await client.acquire({ name, ttlMs: 20_000 });
    const requestId = randomUUID();
    const broken = client.hold({ name, requestId });
    await broken.next('queued');
    const second = client.hold({ name });
    expect(await second.next('queued')).toMatchObject({ position: 2 });
    broken.cancel();
    await eventually('the end of the broken stream', async () => (await client.get(name)).waiterCount === 1);
    const back = elsewhere.hold({ name, requestId });
    expect(await back.next('queued')).toMatchObject({ position: 1, waiterCount: 2 });
    await client.release(holder.leaseId);
    await lease(back);
    back.cancel();
    second.cancel();
  },
);

test.concurrent('AcquireLock with the request_id of a stream does not end the stream', async () => {
  const requestId = randomUUID();
  const stream = client.hold({ name: 'undisturbed', ttlMs: 2400, requestId });
  const granted = await lease(stream);
  const again = await elsewhere.acquire({ name: 'undisturbed', requestId });
  expect(again.leaseId).toBe(granted.leaseId);
  await stream.next('renewed');
  await stream.next('renewed');
  stream.cancel();
});
