import { PermitsFixture } from '../support/permits-fixture';
import type { Requester } from '../support/permits-requester';
import { is } from '../support/reply-kinds';

const BATCH = 64;

/** No script holds Redis for long: it does a batch and says that there is more. */
describe('bounds of a script', () => {
  let on: PermitsFixture;
  beforeAll(async () => {
    // Thousands of commands are under way at once.
    on = await PermitsFixture.open({ commandTimeoutMs: 20_000 });
  });
  afterAll(() => on.close());

  /** That many requests of s1 for one permit each, in order, of a semaphore of 300. */
  async function requests(count: number, act: (one: Requester) => Promise<unknown>, ttlMs = 5000) {
    const semaphore = on.resource('semaphore');
    const all: Requester[] = [];
    for (let i = 0; i < count; i += 1)
      all.push(await on.request('s1', semaphore, { initialLimit: 300, ttlMs }));
    for (const one of all) await act(one);
    return { semaphore, all };
  }

  it('purges 64 at a time and asks to be called again until nothing is left', async () => {
    const { semaphore } = await requests(150, (one) => one.try());
    const server = await on.server('s1');
    await on.passInUse(semaphore, 5001);
    const left: number[] = [];
    for (let more = true; more;) {
      const before = server.mores;
      await server.store.touch(semaphore, []);
      more = server.mores > before;
      left.push((await on.stored(semaphore)).sets.ends.length);
    }
    expect(left).toEqual([150 - BATCH, 150 - 2 * BATCH, 0]);
    expect((await on.stored(semaphore)).numbers.used).toBe('0');
  });

  it('offers 64 at a time, in the order of the queue, and nobody passes meanwhile', async () => {
    const semaphore = on.resource('semaphore');
    const holder = await on.request('s1', semaphore, { initialLimit: 300, permits: 300 });
    is('granted', await holder.try());
    const waiters: Requester[] = [];
    for (let i = 0; i < 150; i += 1) {
      const waiter = await on.request('s1', semaphore);
      is('waiting', await waiter.queue());
      waiters.push(waiter);
    }
    const server = await on.server('s1');
    const before = server.mores;
    server.looks = [];
    await holder.release(holder.secret);
    expect(server.mores).toBe(before + 1);
    expect(server.looks).toEqual(waiters.slice(0, BATCH).map(({ requestId }) => requestId));
    const newcomer = await on.request('s1', semaphore);
    // Its own command promotes the next batch, and it stands behind all of them.
    expect(is('waiting', await newcomer.queue()).position).toBe(150 - 2 * BATCH + 1);
    await server.store.touch(semaphore, []);
    const tokens: bigint[] = [];
    for (const waiter of [...waiters, newcomer])
      tokens.push(is('granted', await waiter.claim()).fencingToken);
    expect([...tokens].sort((a, b) => Number(a - b))).toEqual(tokens);
  });

  it.each([
    ['renewed', (one: Requester) => one.renew(one.secret)],
    ['released', (one: Requester) => one.release(one.secret)],
    ['acquired', (one: Requester) => one.queue()],
    ['claimed', (one: Requester) => one.claim()],
    ['withdrawn', (one: Requester) => one.withdraw()],
  ])('a lease past its end that is %s has expired, however many are before it', async (_, act) => {
    const { semaphore, all } = await requests(100, (one) => one.try());
    const last = await on.request('s1', semaphore, { ttlMs: 5001 });
    await last.try();
    await on.passInUse(semaphore, 5002);
    expect(await act(last)).toEqual({ kind: 'finished', cause: 'expired' });
    expect((await on.stored(semaphore)).sets.ends).toHaveLength(all.length - BATCH);
  });

  it('are not the caller’s business: who looks or asks once meets no lease that is over', async () => {
    const { semaphore } = await requests(200, (one) => one.try());
    const { store } = await on.server('s2');
    await on.passInUse(semaphore, 5001);
    expect(await store.inspect(semaphore)).toMatchObject({ usedCount: 0, holderCount: 0, holders: [] });
    const other = await requests(200, (one) => one.try());
    await on.passInUse(other.semaphore, 5001);
    is('granted', await (await on.request('s2', other.semaphore, { permits: 300 })).try());
    const third = await requests(200, (one) => one.try());
    await on.passInUse(third.semaphore, 5001);
    const { view } = is('set', await store.setLimit(third.semaphore, { limit: 9, expectedLimit: 300 }));
    expect(view).toMatchObject({ usedCount: 0, holderCount: 0 });
  });

  it('remembers at most ten thousand ends of a name, and forgets the oldest first', async () => {
    const lock = on.resource();
    const first = await on.request('s1', lock);
    is('granted', await first.try());
    const { secret } = first;
    await first.release(secret);
    const fill = `
      local record = cmsgpack.pack({ s = 'E', c = 'released', a = 's1.0', k = 'k' })
      local oldest = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2]
      for i = 1, 9999 do
        redis.call('HSET', KEYS[1], 'rfilled' .. i, record)
        redis.call('ZADD', KEYS[2], string.format('%.0f', oldest + i), 'filled' .. i)
      end`;
    await on.redis.command('EVAL', fill, 2, on.key(lock, 'state'), on.key(lock, 'ended'));
    expect(await first.release(secret)).toEqual({ kind: 'finished', cause: 'released' });
    const next = await on.request('s1', lock);
    is('granted', await next.try());
    await on.redis.command('ZINCRBY', on.key(lock, 'ends'), '1', next.requestId);
    is('released', await next.release(next.secret));
    expect(await on.redis.command('ZCARD', on.key(lock, 'ended'))).toBe('10000');
    expect(await first.release(secret)).toEqual({ kind: 'gone' });
    expect(await on.redis.command('HEXISTS', on.key(lock, 'state'), 'rfilled1')).toBe('1');
    expect(await next.release(next.secret)).toEqual({ kind: 'finished', cause: 'released' });
  });

  it('forgets tombstones and kept places in batches too', async () => {
    const { semaphore, all } = await requests(100, async (one) => {
      await one.try();
      await one.release(one.secret);
    });
    const server = await on.server('s1');
    await on.passInUse(semaphore, 60_001);
    const before = server.mores;
    await server.store.touch(semaphore, []);
    expect(Object.keys((await on.stored(semaphore)).records)).toHaveLength(all.length - BATCH);
    expect(server.mores).toBe(before + 1);
    await server.store.touch(semaphore, []);
    expect((await on.stored(semaphore)).records).toEqual({});
  });

  it('lets ten thousand readers in behind one writer without holding Redis for long', async () => {
    const READERS = 10_000;
    const lock = on.resource();
    const server = await on.server('s1');
    const writer = await on.request('s1', lock);
    is('granted', await writer.try());
    const readers = await on.requests(READERS, 's1', lock, { mode: 'shared' });
    await Promise.all(readers.map(async (reader) => is('waiting', await reader.queue())));
    const byId = new Map(readers.map((reader) => [reader.requestId, reader]));

    // As a server does: it claims what it is told of, and goes on where a script stopped.
    const granted: bigint[] = [];
    server.answers.splice(0);
    server.looks = [];
    is('released', await writer.release(writer.secret));
    while (granted.length < READERS) {
      const told = server.looks;
      server.looks = [];
      const [, ...replies] = await Promise.all([
        server.store.touch(lock, []),
        ...told.map((id) => (byId.get(id) as Requester).claim()),
      ]);
      for (const [index, reply] of replies.entries()) {
        // A touch tells of an offer once more, and one that lapsed on a slow machine is made again.
        if (reply.kind === 'granted' && byId.delete(told[index] as string)) granted.push(reply.fencingToken);
      }
      server.looks = server.looks.filter((id) => byId.has(id));
    }
    expect((await on.stored(lock)).numbers.used).toBe(String(READERS));
    expect(new Set(granted).size).toBe(READERS);
    expect(Math.max(...server.answers.map(({ told }) => told))).toBe(BATCH);
  }, 60_000);
});
