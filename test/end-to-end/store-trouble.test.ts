import { randomUUID } from 'node:crypto';
import { LossCause } from '../../generated/typescript/holdfast/v1/lease';
import { closeAll, eventually } from '../support/eventually';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { RedisProcess, serverUrl } from '../support/processes/redis-process';
import { InProcessServer } from './in-process-server';
import { refusal } from '../support/clients/calls';
import { type LockClient, ms } from '../support/clients/lease-client';

const UNAVAILABLE = LossCause.LOSS_CAUSE_STORE_UNAVAILABLE;
const COMMAND_TIMEOUT_MS = 300;

let redis: RedisProcess;
let onlooker: InProcessServer;

beforeAll(async () => {
  redis = await RedisProcess.start();
  onlooker = await InProcessServer.start(redis.url);
});

afterAll(() =>
  closeAll(
    () => onlooker?.close(),
    () => redis?.close(),
  ),
);

/** Runs a server behind a proxy, so that the test can block the server's connection to Redis. */
async function behindProxy(use: (proxy: TcpProxy, client: LockClient) => Promise<void>): Promise<void> {
  const proxy = await TcpProxy.open({ targetPort: redis.port, protocol: 'redis' });
  const env = { HOLDFAST_COMMAND_TIMEOUT: `${COMMAND_TIMEOUT_MS}ms` };
  const server = await InProcessServer.start(serverUrl(proxy.address), env);
  const heal = (): void => {
    proxy.passEverything();
    proxy.cutAll();
  };
  try {
    await use(proxy, server.client());
    heal();
    // The server releases a lease if the store may have granted the lease without an answer.
    await server.idle();
  } finally {
    heal();
    await server.drain();
    await proxy.close();
  }
}

test.concurrent('a drained server retries no command to a store that does not answer', async () => {
  const proxy = await TcpProxy.open({ targetPort: redis.port, protocol: 'redis' });
  const env = { HOLDFAST_COMMAND_TIMEOUT: `${COMMAND_TIMEOUT_MS}ms` };
  const server = await InProcessServer.start(serverUrl(proxy.address), env);
  try {
    const stream = server.client().hold({ name: 'lost before the drain', ttlMs: 2100 });
    await stream.until('granted');
    const holder = await onlooker.client().acquire({ name: 'given back', ttlMs: 20_000 });
    const waiter = refusal(server.client().acquire({ name: 'given back', waitMs: 60_000 }));
    await eventually('the waiter to be in the queue', async () => {
      return (await onlooker.client().get('given back')).waiterCount === 1;
    });
    proxy.blackHole('both');
    // The server releases a lost lease in the background. The drain adds a give-back of the waiter's place.
    await stream.until('lost');
    await server.drain();
    expect((await waiter).reason).toBe('OUTCOME_UNKNOWN');
    expect(server.stats['timerCount']).toBe(0);
    await server.idle();
    await onlooker.client().release(holder.leaseId);
  } finally {
    await server.drain();
    await proxy.close();
  }
});

describe('a hold stream', () => {
  test.concurrent(
    'sends renewal_failed when the store does not answer, and lost at the last confirmed end',
    () =>
      behindProxy(async (proxy, client) => {
        const stopwatch = redis.stopwatch();
        const stream = client.hold({ name: 'lost', ttlMs: 2100 });
        const { expireOffset } = await stream.until('renewed');
        proxy.blackHole('both');
        const failed = await stream.next('renewalFailed');
        expect(failed).toEqual({ cause: UNAVAILABLE, expireOffset });
        expect(await stream.until('lost')).toEqual({ cause: UNAVAILABLE });
        const late = (stream.received.at(-1)?.at ?? NaN) - (stream.openedAt + ms(expireOffset));
        expect(late).toBeGreaterThan(-5);
        expect(late).toBeLessThan(250 + stopwatch.coreWaitMs);
        expect(await stream.ending).toMatchObject({
          code: 'ABORTED',
          reason: 'LEASE_LOST',
          metadata: { cause: 'STORE_UNAVAILABLE' },
        });
      }),
  );

  test.concurrent('sends renewed with a later end when the store answers again in time', () =>
    behindProxy(async (proxy, client) => {
      const stream = client.hold({ name: 'saved', ttlMs: 3000 });
      await stream.next('granted');
      const { expireOffset: before } = await stream.next('renewed');
      proxy.blackHole('both');
      await stream.next('renewalFailed');
      proxy.passEverything();
      proxy.cutAll();
      const { expireOffset: after } = await stream.until('renewed');
      expect(ms(after)).toBeGreaterThan(ms(before));
      await stream.next('renewed');
      expect(stream.kinds).not.toContain('lost');
      stream.cancel();
    }),
  );

  test.concurrent(
    'sends lost with STORE_RESET within one renewal interval after the keys of its lease were deleted',
    async () => {
      const client = onlooker.client();
      const stream = client.hold({ name: 'erased', ttlMs: 3000 });
      await stream.until('renewed');
      const keys = (await redis.command('KEYS', 'holdfast:*:erased')) as string[];
      expect(keys.length).toBeGreaterThan(0);
      await redis.command('DEL', ...keys);
      const stopwatch = redis.stopwatch();
      expect(await stream.until('lost')).toEqual({ cause: LossCause.LOSS_CAUSE_STORE_RESET });
      expect(stopwatch.chargedMs).toBeLessThan(1000 + 500);
      expect(await stream.ending).toMatchObject({
        code: 'ABORTED',
        reason: 'LEASE_LOST',
        metadata: { cause: 'STORE_RESET' },
      });
      expect(stream.kinds.at(-1)).toBe('lost');
    },
  );
});

describe('a unary call', () => {
  test.concurrent('answers STORE_UNAVAILABLE if its command was never sent', () =>
    behindProxy(async (proxy, client) => {
      const { leaseId } = await client.acquire({ name: 'unsent', ttlMs: 20_000 });
      proxy.refuseNew();
      proxy.cutAll();
      await eventually('the lost connection to be noticed', async () => {
        const ending = await refusal(client.get('unsent'));
        return ending.reason === 'STORE_UNAVAILABLE';
      });
      const calls = [client.acquire({ name: 'unsent' }), client.renew(leaseId), client.release(leaseId)];
      for (const call of calls) {
        const ending = await refusal(call);
        expect(ending).toMatchObject({ code: 'UNAVAILABLE', reason: 'STORE_UNAVAILABLE' });
        expect(ending.retryAfterMs).toBeGreaterThan(0);
      }
    }),
  );

  test.concurrent(
    'answers OUTCOME_UNKNOWN if its command may have been carried out, and a retry gets the lease',
    () =>
      behindProxy(async (proxy, client) => {
        const requestId = randomUUID();
        const sent = new Promise<void>((resolve) => {
          proxy.on(
            'command',
            ({ name, args }) => name === 'EVALSHA' && args.includes(requestId) && resolve(),
          );
        });
        await client.acquire({ name: 'warm the scripts', ttlMs: 1000 });
        proxy.blackHole('toClient');
        const stopwatch = redis.stopwatch();
        const ending = refusal(client.acquire({ name: 'unknown', ttlMs: 20_000, requestId }));
        await sent;
        expect(await ending).toMatchObject({
          code: 'UNAVAILABLE',
          reason: 'OUTCOME_UNKNOWN',
          metadata: { request_id: requestId },
        });
        expect(stopwatch.chargedMs).toBeLessThan(COMMAND_TIMEOUT_MS + 750);
        const lease = await onlooker.client().acquire({ name: 'unknown', ttlMs: 20_000, requestId });
        expect(lease.requestId).toBe(requestId);
      }),
  );
});
