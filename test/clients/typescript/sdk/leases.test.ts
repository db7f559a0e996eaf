import { inspect } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  connect,
  ContendedError,
  InvalidRequestError,
  LeaseLostError,
  UnavailableError,
  type ConnectOptions,
  type Holdfast,
  type Lease,
} from '../../../../clients/typescript';
import { ServerPair } from '../../../end-to-end/server-pair';
import { closeAll, eventually } from '../../../support/eventually';

let pair: ServerPair;
const clients: Holdfast[] = [];

beforeAll(async () => {
  pair = await ServerPair.start();
});
afterAll(() => closeAll(...clients.map((client) => () => client.close()), () => pair.close()));

async function connected(options: ConnectOptions = {}): Promise<Holdfast> {
  const client = await connect([pair.first.address, pair.second.address], options);
  clients.push(client);
  return client;
}

const revoke = (name: string, lease: Lease, force = false) =>
  pair.second
    .client()
    .revoke({ name, target: { $case: 'fencingToken', value: lease.fencingToken }, force, reason: 'a test' });
const state = (name: string) => pair.second.client().get(name);

describe('withLock', () => {
  test.concurrent('holds the lock during the work, returns the result, and releases', async () => {
    const hf = await connected({ holderId: 'worker', metadata: { zone: 'a' } });
    const result = await hf.withLock('kept', { ttl: '5s' }, async (lease) => {
      await sleep(6000);
      lease.check();
      expect((await state('kept')).holders).toMatchObject([
        { holderId: 'worker', fencingToken: lease.fencingToken, metadata: new Map([['zone', 'a']]) },
      ]);
      return 'done';
    });
    expect(result).toBe('done');
    expect((await state('kept')).holderCount).toBe(0);
  });

  test.concurrent('rejects with the error of the work, and releases', async () => {
    const hf = await connected();
    const failing = hf.withLock('failed', () => Promise.reject(new Error('broken')));
    await expect(failing).rejects.toThrow('broken');
    expect((await state('failed')).holderCount).toBe(0);
  });

  test.concurrent(
    'is refused without a function at the end, as wrong options of each acquire, and acquires nothing',
    async () => {
      const hf = await connected();
      const work = () => Promise.resolve();
      for (const swapped of [[work, {}], [{}], [{}, {}], []]) {
        const wrong = swapped as unknown as [() => Promise<void>];
        await expect(hf.withLock('swapped', ...wrong)).rejects.toThrow(
          'the last argument must be a function',
        );
        await expect(hf.withPermits('swapped', ...wrong)).rejects.toThrow(TypeError);
      }
      for (const options of [null, 'shared', 5] as unknown as [object, object, object]) {
        await expect(hf.tryLock('swapped', options)).rejects.toThrow('options must be an object');
        await expect(hf.tryPermits('swapped', options)).rejects.toThrow('options must be an object');
        await expect(hf.election('swapped').campaign('me', options)).rejects.toThrow(InvalidRequestError);
      }
      expect(await hf.tryLock('swapped')).toBeDefined();
    },
  );

  test.concurrent(
    'on a loss aborts the signal, waits for the work, and rejects with a LeaseLostError',
    async () => {
      const hf = await connected();
      let isEnded = false;
      const losing = hf.withLock('revoked', async (lease) => {
        await revoke('revoked', lease);
        await eventually('the abort', () => lease.signal.aborted);
        expect(() => lease.fencingToken).toThrow(LeaseLostError);
        await sleep(50);
        isEnded = true;
        throw new Error('stopped early');
      });
      const error: unknown = await losing.catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(LeaseLostError);
      expect(error).toMatchObject({
        lossCause: 'REVOKED',
        noticedBy: 'server',
        cause: { message: 'stopped early' },
      });
      expect(isEnded).toBe(true);
      expect((await state('revoked')).holderCount).toBe(0);
    },
  );

  test.concurrent(
    'rejects with a LeaseLostError if the work ends after a loss without an error',
    async () => {
      const hf = await connected();
      const losing = hf.withLock('ignored', async (lease) => {
        await revoke('ignored', lease, true);
        return 'a result that nobody may use';
      });
      await expect(losing).rejects.toMatchObject({ name: 'LeaseLostError', lossCause: 'REVOKED' });
    },
  );

  test.concurrent('stops work that hangs after maxHold, and frees the lock for others', async () => {
    const hf = await connected();
    const hanging = hf.withLock('hung', { ttl: '5s', maxHold: 300 }, async (lease) => {
      await eventually('the abort', () => lease.signal.aborted);
      // The work ignores its signal. The lock is free nevertheless.
      const next = await hf.lock('hung');
      await next.release();
    });
    await expect(hanging).rejects.toMatchObject({ lossCause: 'MAX_HOLD', noticedBy: 'client' });
  });

  test.concurrent('needs a function', async () => {
    const hf = await connected();
    const wrong = hf.withLock('x', {}, undefined as unknown as () => void);
    await expect(wrong).rejects.toThrow('must be a function');
  });
});

describe('lock', () => {
  test.concurrent('is released at the end of the block of `await using`', async () => {
    const hf = await connected();
    const lease = await hf.lock('block');
    await lease[Symbol.asyncDispose]();
    expect((await state('block')).holderCount).toBe(0);
  });

  test.concurrent('tells a loss at the end of the block, unless `check` has told the loss', async () => {
    const hf = await connected();
    const [untold, told] = await Promise.all([hf.lock('untold'), hf.lock('told')]);
    await Promise.all([revoke('untold', untold), revoke('told', told)]);
    await eventually('both losses', () => !untold.isValid && !told.isValid);
    expect(() => told.check()).toThrow(LeaseLostError);
    await told[Symbol.asyncDispose]();
    await expect(untold[Symbol.asyncDispose]()).rejects.toThrow('revoked');
  });

  test.concurrent('waits no longer than `wait`, and then says who holds the lock', async () => {
    const [alice, bob] = await Promise.all([connected({ holderId: 'alice' }), connected()]);
    const held = await alice.lock('taken');
    const error: unknown = await bob.lock('taken', { wait: 100 }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ContendedError);
    expect(error).toMatchObject({ holderId: 'alice', waiterCount: 0 });
    expect(await bob.tryLock('taken')).toBeUndefined();
    await held.release();
  });

  test.concurrent('ends a wait with the reason of the caller', async () => {
    const hf = await connected();
    const held = await hf.lock('aborted');
    const abort = new AbortController();
    const waiting = hf.lock('aborted', {
      signal: abort.signal,
      onQueued: () => abort.abort(new Error('enough')),
    });
    await expect(waiting).rejects.toThrow('enough');
    await eventually('an empty queue', async () => (await state('aborted')).waiterCount === 0);
    await held.release();
  });

  test.concurrent('is shared by several holders in mode `shared`', async () => {
    const hf = await connected();
    const leases = await Promise.all([
      hf.lock('read', { mode: 'shared' }),
      hf.lock('read', { mode: 'shared' }),
    ]);
    expect(await hf.tryLock('read')).toBeUndefined();
    for (const lease of leases) await lease.release();
    const writer = await hf.tryLock('read');
    expect(writer?.isValid).toBe(true);
    await writer?.release();
  });

  test.concurrent('names all wrong fields of a refused request', async () => {
    const hf = await connected();
    const error: unknown = await hf.lock('', { ttl: '1h' }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(InvalidRequestError);
    expect((error as InvalidRequestError).violations.map(({ field }) => field)).toEqual([
      'acquire_lock.name',
      'acquire_lock.ttl',
    ]);
    await expect(hf.lock('x', { ttl: 'soon' })).rejects.toThrow('ttl must be milliseconds');
  });

  test.concurrent(
    'shows neither the id of a lease nor its session in a log of the lease or the client',
    async () => {
      const hf = await connected();
      const lease = await hf.lock('secret');
      for (const text of [inspect(lease), JSON.stringify(lease)]) {
        expect(text).toContain('secret');
        expect(text).not.toContain(lease.id);
      }
      expect(inspect(hf, { depth: Infinity })).toBe('Holdfast { leaseCount: 1 }');
      expect(JSON.stringify({ hf })).toBe('{"hf":{"leaseCount":1}}');
      await lease.release();
    },
  );
});

describe('permits', () => {
  test.concurrent('limit the holders together, and create the semaphore', async () => {
    const hf = await connected();
    const two = await hf.permits('gpu', { permits: 2, limit: 3 });
    expect(await hf.tryPermits('gpu', { permits: 2 })).toBeUndefined();
    expect(await hf.withPermits('gpu', (lease) => lease.permitCount)).toBe(1);
    await two.release();
  });
});

describe('connect', () => {
  test('rejects when no server answers, and leaves nothing open', async () => {
    const nobody = connect('127.0.0.1:1', { timeout: 300 });
    await expect(nobody).rejects.toThrow(UnavailableError);
  });

  test('refuses an address without a port and an empty list', async () => {
    await expect(connect('localhost')).rejects.toThrow('"host:port"');
    await expect(connect([])).rejects.toThrow('at least one address');
  });

  test('closes: releases every lease, and ends every wait', async () => {
    const hf = await connected();
    await hf.lock('open');
    const waiting = hf.lock('open');
    const refused = expect(waiting).rejects.toMatchObject({ name: 'ClosedError' });
    await hf.close();
    await refused;
    expect(await state('open')).toMatchObject({ holderCount: 0, waiterCount: 0 });
    await expect(hf.lock('open')).rejects.toMatchObject({ name: 'ClosedError' });
    await expect(hf.serverInfo()).rejects.toMatchObject({ name: 'ClosedError' });
  });

  test('asks the server for its version and features', async () => {
    const hf = await connected();
    expect((await hf.serverInfo()).features).toContain('SESSIONS');
  });

  test('writes the course of its sessions to the logger', async () => {
    const lines: string[] = [];
    const write = (line: string) => lines.push(line);
    const logger = { debug: write, info: write, warn: write, error: write };
    await (await connected({ logger })).close();
    expect(lines).toEqual([`holdfast: a session with ${pair.first.address} has started`]);
  });
});
