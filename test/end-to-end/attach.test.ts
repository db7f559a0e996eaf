import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../support/eventually';
import { SHORT_TTL_MS, SLOW_MS } from './in-process-server';
import { ServerPair } from './server-pair';
import type { HoldStream } from '../support/clients/streams';
import { type LockClient, ms } from '../support/clients/lease-client';

let pair: ServerPair;
let client: LockClient;
let elsewhere: LockClient;

beforeAll(async () => {
  pair = await ServerPair.start();
  client = pair.first.client();
  elsewhere = pair.second.client();
});

afterAll(() => pair?.close());

async function lease(stream: HoldStream) {
  const { lease: granted } = await stream.until('granted');
  if (granted === undefined) throw new Error('granted without a lease');
  return granted;
}

describe('HoldLock with a lease_id', () => {
  test.concurrent(
    'sends granted first, with the same lease and fencing token, and an expire_offset from this call',
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
    'ends the older stream on %s with SUPERSEDED',
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

  test.concurrent('answers LEASE_NOT_HELD with the cause for an ended lease', async () => {
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
  });

  test.concurrent('sends released when another server releases the lease', async () => {
    const first = await client.acquire({ name: 'released', ttlMs: 20_000 });
    const stream = elsewhere.attach(first.leaseId);
    await stream.next('granted');
    const stopwatch = pair.stopwatch();
    await client.release(first.leaseId);
    await stream.next('released');
    expect(stopwatch.chargedMs).toBeLessThan(SLOW_MS);
    expect((await stream.ending).code).toBe('OK');
  });
});

describe('HoldLock with a request_id', () => {
  test.concurrent('attaches to the lease of a unary call', async () => {
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

  test.concurrent('takes over the lease of another stream, which ends with SUPERSEDED', async () => {
    const requestId = randomUUID();
    const older = client.hold({ name: 'held stream', ttlMs: 2000, requestId });
    const granted = await lease(older);
    const newer = elsewhere.hold({ name: 'held stream', ttlMs: 2000, requestId });
    expect((await newer.next('granted')).lease?.fencingToken).toBe(granted.fencingToken);
    expect(await older.ending).toMatchObject({ code: 'ABORTED', reason: 'SUPERSEDED' });
    newer.cancel();
  });

  test.concurrent('keeps the place of a waiting request, even on another server', async () => {
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
  });

  test.concurrent('keeps the place of a waiting stream that was cancelled', async () => {
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
  });
});

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
