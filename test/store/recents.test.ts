import fc from 'fast-check';
import { StoreFailure } from '../../src/engine/errors';
import type { Recent } from '../../src/engine/autocomplete/suggestion';
import type { RedisRecentsStore } from '../../src/redis/autocomplete/recents-store';
import { TcpProxy, type RedisCommand } from '../support/proxy/tcp-proxy';
import { plain, recent, RecentsFixture } from '../support/recents-fixture';

/** A list of recents as anybody would write it down. */
class ModelList {
  recents: Recent[] = [];

  add(one: Recent, capacity: number): void {
    this.recents = [one, ...this.recents.filter((other) => !same(one, other))].slice(0, capacity);
  }

  remove(which: Recent): boolean {
    const before = this.recents.length;
    this.recents = this.recents.filter((other) => !same(which, other));
    return this.recents.length < before;
  }

  drop(): boolean {
    const existed = this.recents.length > 0;
    this.recents = [];
    return existed;
  }
}

const same = (one: Recent, other: Recent) =>
  one.entryId === other.entryId && (one.entryId !== '' || one.text === other.text);

/** Few names, so that they meet; some that look like what the store keeps. */
const name = fc.oneof(
  fc.constantFrom('a', 'b', 'ta', 'ia', 'v', 'va', '1', '0'),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 }),
);
const anyRecent = fc.record<Recent>({
  text: name,
  entryId: fc.oneof(fc.constant(''), name),
  payload: fc.oneof(
    fc.constant(new Uint8Array()),
    fc.uint8Array({ maxLength: 12 }),
    name.map((text) => new Uint8Array(Buffer.from(text))),
  ),
});
const anyStep = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      verb: fc.constant('add' as const),
      one: anyRecent,
      capacity: fc.integer({ min: 1, max: 6 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ verb: fc.constant('remove' as const), one: anyRecent }) },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant('drop' as const) }) },
);

describe('lists of recents', () => {
  let on: RecentsFixture;
  let store: RedisRecentsStore;
  beforeAll(async () => {
    on = await RecentsFixture.open();
    store = await on.store();
  });
  afterAll(() => on.close());

  it('are what a plain list would be, whatever is done in whatever order (chapter 3, 4)', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { maxLength: 25 }), async (steps) => {
        const [list, model] = [on.list(), new ModelList()];
        for (const step of steps) {
          if (step.verb === 'add') {
            await store.add(list, step.one, step.capacity);
            model.add(step.one, step.capacity);
          } else if (step.verb === 'remove') {
            expect(await store.remove(list, step.one)).toBe(model.remove(step.one));
          } else {
            expect(await store.drop(list)).toBe(model.drop());
          }
          expect(plain(await store.read(list))).toEqual(model.recents);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('are each their own, whatever their names', async () => {
    const lists = ['x', 'x:', '{x}', 'list:x', 'x\u0301', '*', '\0'];
    for (const list of lists) await store.add(list, recent(`of ${list}`), 100);
    for (const list of lists) expect(await on.texts(store, list)).toEqual([`of ${list}`]);
  });

  it('lose nothing when many add at once (chapter 3)', async () => {
    const [list, stores] = [on.list(), await Promise.all([on.store(), on.store()])];
    const texts = Array.from({ length: 60 }, (_, i) => `name ${i}`);
    await Promise.all(
      texts.map((text, i) => (stores[i % 2] as RedisRecentsStore).add(list, recent(text), 100)),
    );
    expect((await on.texts(store, list)).sort()).toEqual([...texts].sort());
  });

  /** So many, all of this size; the text is what tells them apart. */
  const many = (count: number, textBytes: number, idBytes: number, payload: Uint8Array) =>
    Array.from({ length: count }, (_, i) =>
      recent(`${i} `.padEnd(textBytes, 'x'), { entryId: `${i} `.padEnd(idBytes, 'y'), payload }),
    );
  const bytes = (length: number) => Uint8Array.from({ length }, (_, i) => 255 - (i % 256));
  const memoryOf = async (list: string) =>
    Number(await on.redis.command('MEMORY', 'USAGE', on.key(list), 'SAMPLES', 0));

  it('have room for a thousand of 400 bytes', async () => {
    const list = on.list();
    const all = many(1000, 100, 100, bytes(200));
    for (const one of all) await store.add(list, one, 1000);
    expect(plain(await store.read(list))).toEqual(all.reverse());
  });

  it('of the greatest size keep the most recent that fit in 512 KiB', async () => {
    const list = on.list();
    const all = many(1000, 512, 512, bytes(1024));
    for (const one of all) await store.add(list, one, 1000);
    const read = plain(await store.read(list));
    expect(read.length).toBeGreaterThanOrEqual(230);
    expect(read).toEqual(all.reverse().slice(0, read.length));
    expect(await memoryOf(list)).toBeLessThan(540_000);
  });

  it('of many small ones give way to a few large ones', async () => {
    const list = on.list();
    for (const one of many(1000, 250, 150, bytes(0))) await store.add(list, one, 1000);
    const large = many(200, 512, 511, bytes(1024));
    for (const one of large) await store.add(list, one, 1000);
    const read = plain(await store.read(list));
    expect(read.slice(0, 200)).toEqual(large.reverse());
    expect(read.length).toBeGreaterThan(250);
    expect(await memoryOf(list)).toBeLessThan(540_000);
  });

  it('are empty once Redis was flushed, and go on from there', async () => {
    const list = on.list();
    await store.add(list, recent('before'), 100);
    await on.redis.command('FLUSHALL');
    expect(await store.read(list)).toEqual([]);
    expect(await store.remove(list, recent('before'))).toBe(false);
    await store.add(list, recent('after'), 100);
    expect(await on.texts(store, list)).toEqual(['after']);
  });

  it('need no script to be loaded beforehand', async () => {
    await on.redis.command('SCRIPT', 'FLUSH');
    const list = on.list();
    const one = recent('a', { payload: Uint8Array.of(0, 255, 128) });
    await store.add(list, one, 100);
    expect(plain(await store.read(list))).toEqual([one]);
  });

  describe('when memory is full', () => {
    afterEach(() => on.redis.command('CONFIG', 'SET', 'maxmemory', '0'));
    const fill = () => on.redis.command('CONFIG', 'SET', 'maxmemory', '1mb');

    it('take no more, and say that nothing was done', async () => {
      const list = on.list();
      await store.add(list, recent('a'), 100);
      await fill();
      const failure = await store.add(list, recent('b'), 100).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(StoreFailure);
      expect(failure).toMatchObject({ kind: 'full', carriedOut: 'no' });
      expect(await on.texts(store, list)).toEqual(['a']);
    });

    it('are read, lose one, and are forgotten', async () => {
      const list = on.list();
      for (const text of ['a', 'b', 'c']) await store.add(list, recent(text), 100);
      await fill();
      expect(await store.remove(list, recent('b'))).toBe(true);
      expect(await on.texts(store, list)).toEqual(['c', 'a']);
      expect(await store.drop(list)).toBe(true);
      expect(await store.read(list)).toEqual([]);
    });
  });

  describe('whose connection breaks', () => {
    let proxy: TcpProxy;
    let proxied: RedisRecentsStore;
    beforeAll(async () => {
      proxy = await TcpProxy.open({ targetPort: on.redis.port, protocol: 'redis' });
      proxied = await on.store({ url: `redis://${proxy.address}` });
    });
    afterAll(() => proxy.close());

    const isScript = ({ name }: RedisCommand) => name === 'EVALSHA' || name === 'EVAL';
    const isRead = ({ name }: RedisCommand) => name === 'LRANGE';

    async function filled(): Promise<string> {
      const list = on.list();
      for (const text of ['a', 'b']) await store.add(list, recent(text), 100);
      return list;
    }

    it.each([
      ['an addition', (list: string) => proxied.add(list, recent('a'), 100), undefined, ['a', 'b']],
      ['a removal', (list: string) => proxied.remove(list, recent('a')), true, ['b']],
      ['a removal of none', (list: string) => proxied.remove(list, recent('x')), false, ['b', 'a']],
      ['a deletion', (list: string) => proxied.drop(list), true, []],
    ] as const)('%s is carried out all the same, and says so', async (_what, operate, answer, left) => {
      for (const lose of [proxy.dropNextReply.bind(proxy), proxy.dropNextRequest.bind(proxy)]) {
        const list = await filled();
        const lost = lose(isScript);
        expect(await operate(list)).toBe(answer);
        await lost;
        expect(await on.texts(store, list)).toEqual(left);
      }
    });

    it('reading is done again', async () => {
      const list = await filled();
      const lost = proxy.dropNextReply(isRead);
      expect(await on.texts(proxied, list)).toEqual(['b', 'a']);
      await lost;
    });

    it.each([
      ['removal', (list: string) => proxied.remove(list, recent('a'))],
      ['deletion', (list: string) => proxied.drop(list)],
    ] as const)('a %s that is sent again leaves what was added since', async (_what, operate) => {
      const list = await filled();
      const lost = proxy.dropNextReply(isScript);
      const answer = operate(list);
      await lost;
      // What is sent again comes after another server's addition.
      proxy.blackHole('toTarget');
      await store.add(list, recent('a'), 100);
      proxy.passEverything();
      expect(await answer).toBe(true);
      expect((await on.texts(store, list))[0]).toBe('a');
    });
  });
});
