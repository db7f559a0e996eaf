import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../support/eventually';
import { SHORT_TTL_MS } from './in-process-server';
import { ServerPair, untilWaiterCount } from './server-pair';
import { refusal } from '../support/clients/calls';
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

describe('AcquireLock with a repeated request_id', () => {
  test.concurrent('answers with the same lease and its remaining time', async () => {
    const requestId = randomUUID();
    const t0 = performance.now();
    const first = await client.acquire({ name: 'same', ttlMs: 20_000, requestId });
    await sleep(200);
    for (const again of [client, elsewhere]) {
      const lease = await again.acquire({ name: 'same', ttlMs: 20_000, requestId });
      expect(lease.leaseId).toBe(first.leaseId);
      expect(lease.fencingToken).toBe(first.fencingToken);
      expect(ms(lease.expireOffset)).toBeLessThan(20_000 - 200);
      expect(ms(lease.expireOffset)).toBeGreaterThan(20_000 - 50 - (performance.now() - t0));
    }
  });

  test.concurrent('answers with the same lease even if ttl, wait_timeout and metadata differ', async () => {
    const requestId = randomUUID();
    const first = await client.acquire({ name: 'varied', ttlMs: 20_000, waitMs: 0, requestId });
    const wanted = { name: 'varied', ttlMs: 60_000, waitMs: 700, metadata: { other: 'pair' }, requestId };
    const again = await client.acquire(wanted);
    expect(again.leaseId).toBe(first.leaseId);
    expect(ms(again.expireOffset)).toBeLessThan(20_000);
  });

  test.concurrent('answers REQUEST_MISMATCH with the field holder_id for another holder_id', async () => {
    const requestId = randomUUID();
    await client.acquire({ name: 'mismatch', holderId: 'a', requestId });
    expect(await refusal(client.acquire({ name: 'mismatch', holderId: 'b', requestId }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      reason: 'REQUEST_MISMATCH',
      metadata: { field: 'holder_id' },
    });
  });

  test.concurrent('is a new request if the name differs', async () => {
    const requestId = randomUUID();
    const first = await client.acquire({ name: 'scope 1', requestId });
    const second = await client.acquire({ name: 'scope 2', requestId });
    expect(second.leaseId).not.toBe(first.leaseId);
    expect((await client.release(first.leaseId)).released).toBe(true);
    expect((await client.get('scope 2')).holderCount).toBe(1);
  });

  test.concurrent('keeps its place in the queue, and ends the older call with SUPERSEDED', async () => {
    const name = 'place';
    const holder = await client.acquire({ name, ttlMs: 20_000 });
    const requestId = randomUUID();
    const older = refusal(client.acquire({ name, ttlMs: 20_000, requestId }));
    await untilWaiterCount(client, name, 1);
    const later = elsewhere.acquire({ name, ttlMs: 20_000, requestId: randomUUID() });
    await untilWaiterCount(client, name, 2);
    const newer = elsewhere.acquire({ name, ttlMs: 20_000, requestId });
    expect(await older).toMatchObject({ code: 'ABORTED', reason: 'SUPERSEDED' });
    await client.release(holder.leaseId);
    const granted = await newer;
    expect((await client.get(name)).waiterCount).toBe(1);
    await client.release(granted.leaseId);
    expect((await later).fencingToken).toBeGreaterThan(granted.fencingToken);
  });

  test.concurrent('keeps its place when it waits again after CONTENDED', async () => {
    const name = 'place kept';
    const holder = await client.acquire({ name, ttlMs: 20_000 });
    const requestId = randomUUID();
    expect((await refusal(client.acquire({ name, waitMs: 300, requestId }))).reason).toBe('CONTENDED');
    const newcomer = elsewhere.acquire({ name, ttlMs: 20_000 });
    await untilWaiterCount(client, name, 1);
    const back = client.acquire({ name, ttlMs: 20_000, requestId });
    await untilWaiterCount(client, name, 2);
    await client.release(holder.leaseId);
    const lease = await back;
    await client.release(lease.leaseId);
    expect((await newcomer).fencingToken).toBeGreaterThan(lease.fencingToken);
  });

  test.concurrent('answers REQUEST_FINISHED after the release or expiry of its lease', async () => {
    const released = await client.acquire({ name: 'finished', ttlMs: 20_000 });
    await client.release(released.leaseId);
    const expired = await client.acquire({ name: 'finished', ttlMs: SHORT_TTL_MS });
    await eventually('the expiry', async () => (await client.get('finished')).holderCount === 0);
    for (const { requestId } of [released, expired]) {
      for (const waitMs of [0, 2000]) {
        const ending = await refusal(elsewhere.acquire({ name: 'finished', waitMs, requestId }));
        expect(ending).toMatchObject({ code: 'FAILED_PRECONDITION', reason: 'REQUEST_FINISHED' });
      }
    }
  });
});

describe('a retry of the gRPC library', () => {
  const headers = { 'grpc-previous-rpc-attempts': '1' };

  test.concurrent(
    'is refused without a request_id, because the retry could wait behind its own first attempt',
    async () => {
      const ending = await refusal(client.acquire({ name: 'ghost' }, { headers }));
      expect(ending).toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'REQUEST_MISMATCH' });
      expect((await client.get('ghost')).holderCount).toBe(0);
    },
  );

  test.concurrent('is served with a request_id', async () => {
    const requestId = randomUUID();
    const first = await client.acquire({ name: 'retried', requestId });
    const second = await client.acquire({ name: 'retried', requestId }, { headers });
    expect(second.leaseId).toBe(first.leaseId);
  });
});
