import fc from 'fast-check';
import type { RedisRecentsStore } from '../../../src/autocomplete/redis/redis-recents';
import type { Recent } from '../../../src/autocomplete/suggestion';
import { plain, recent, RecentsFixture } from '../../support/autocomplete/recents-fixture';
import { eventually } from '../../support/eventually';
import { serverUrl } from '../../support/processes/redis-process';
import { type RedisCommand, TcpProxy } from '../../support/proxy/tcp-proxy';
import { failureOf } from '../../support/reply-kinds';
import { assertWithinTime } from '../../support/timed-property';

let fixture: RecentsFixture;
let store: RedisRecentsStore;
beforeAll(async () => {
  fixture = await RecentsFixture.open();
  store = await fixture.store();
});
afterAll(() => fixture.close());

describe('recents-add', () => {
  async function added(...texts: string[]): Promise<string> {
    const list = fixture.list();
    for (const text of texts) await store.add(list, recent(text), 100);
    return list;
  }

  it('puts a new recent in front (chapter 3)', async () => {
    expect(await fixture.texts(store, await added('a', 'b', 'c'))).toEqual(['c', 'b', 'a']);
  });

  it('moves a repeated text to the front (chapter 3)', async () => {
    expect(await fixture.texts(store, await added('a', 'b', 'c', 'a'))).toEqual(['a', 'c', 'b']);
    expect(await fixture.texts(store, await added('a', 'b', 'b'))).toEqual(['b', 'a']);
  });

  it('removes the oldest recents beyond the capacity (chapter 3)', async () => {
    const list = fixture.list();
    for (let i = 0; i < 8; i += 1) await store.add(list, recent(`name ${i}`), 5);
    expect(await fixture.texts(store, list)).toEqual(['name 7', 'name 6', 'name 5', 'name 4', 'name 3']);
    await store.add(list, recent('name 3'), 5);
    expect(await fixture.texts(store, list)).toEqual(['name 3', 'name 7', 'name 6', 'name 5', 'name 4']);
    await store.add(list, recent('one more'), 2);
    expect(await fixture.texts(store, list)).toEqual(['one more', 'name 3']);
  });

  it('identifies a recent by its entry id only, and replaces its text and payload', async () => {
    const list = fixture.list();
    await store.add(list, recent('Anna', { entryId: 'e1', payload: 'old' }), 100);
    await store.add(list, recent('Bert', { entryId: 'e2' }), 100);
    const renamed = recent('Anna Smith', { entryId: 'e1', payload: 'new' });
    await store.add(list, renamed, 100);
    expect(plain(await store.read(list))).toEqual([renamed, recent('Bert', { entryId: 'e2' })]);
  });

  it('does not confuse equal entry ids, texts and payloads', async () => {
    const list = fixture.list();
    const all = [
      recent('same'),
      recent('same', { entryId: 'same' }),
      recent('other', { payload: 'tsame' }),
      recent('third', { entryId: 'vtsame', payload: 'isame' }),
      recent('tsame'),
      recent('', { entryId: 'vx' }),
    ];
    for (const one of all) await store.add(list, one, 100);
    expect(plain(await store.read(list))).toEqual([...all].reverse());
    for (const one of all) await store.add(list, one, 100);
    expect(plain(await store.read(list))).toEqual([...all].reverse());
  });

  it('distinguishes texts by case, white space and composition', async () => {
    const texts = ['Zoé', 'zoé', 'Zoe\u0301', 'Zoé ', 'Ｚoé'];
    expect(await fixture.texts(store, await added(...texts))).toEqual([...texts].reverse());
  });

  it('keeps every byte of payloads, and texts in any writing system', async () => {
    const list = fixture.list();
    const payload = Uint8Array.from({ length: 1024 }, (_, i) => i % 256);
    const whole = [recent('東京 🗼\u0301', { entryId: 'ñ:{1}', payload }), recent('\0', { payload })];
    for (const one of whole) await store.add(list, one, 100);
    expect(plain(await store.read(list))).toEqual([...whole].reverse());
  });

  it('uses about 2 kB of memory for 100 short names', async () => {
    const [names, withIds] = [fixture.list(), fixture.list()];
    for (let i = 0; i < 100; i += 1) {
      await store.add(names, recent(`name ${i}`), 100);
      await store.add(withIds, recent(`name ${i}`, { entryId: `e${i}` }), 100);
    }
    const bytesOf = async (list: string) =>
      Number(await fixture.redis.command('MEMORY', 'USAGE', fixture.key(list), 'SAMPLES', 0));
    expect(await bytesOf(names)).toBeLessThan(2200);
    expect(await bytesOf(withIds)).toBeLessThan(2500);
  });

  describe('gives a list an expiry that', () => {
    const ttlOf = async (list: string) => Number(await fixture.redis.command('PTTL', fixture.key(list)));

    it('is renewed by each add, but not by reads and removals', async () => {
      const list = await added('a', 'b');
      await fixture.redis.command('PEXPIRE', fixture.key(list), 100_000);
      await store.read(list);
      await store.remove(list, recent('a'));
      expect(await ttlOf(list)).toBeLessThanOrEqual(100_000);
      await store.add(list, recent('b'), 100);
      expect(await ttlOf(list)).toBeGreaterThan(3_500_000);
    });

    it('removes the whole list', async () => {
      const brief = await fixture.store({ retentionMs: 50 });
      const list = fixture.list();
      await brief.add(list, recent('a', { entryId: 'e', payload: 'p' }), 100);
      await eventually('the list to go', async () => (await store.read(list)).length === 0);
      expect(await fixture.redis.command('EXISTS', fixture.key(list))).toBe('0');
    });

    it('ends with an add without retention, and is set again by the next add with retention', async () => {
      const forEver = await fixture.store({ retentionMs: undefined });
      const list = await added('a');
      await forEver.add(list, recent('b'), 100);
      expect(await ttlOf(list)).toBe(-1);
      await store.add(list, recent('c'), 100);
      expect(await ttlOf(list)).toBeGreaterThan(3_500_000);
    });
  });
});

/** The mark of a removal lasts twice the command timeout. */
const MARK_MS = 4000;

describe('recents-remove', () => {
  async function filled(): Promise<string> {
    const list = fixture.list();
    for (const one of [recent('a'), recent('b', { entryId: 'e' }), recent('c', { payload: 'ta' })]) {
      await store.add(list, one, 100);
    }
    return list;
  }

  it('removes a recent by its text and keeps the others (chapter 4)', async () => {
    const list = await filled();
    expect(await store.remove(list, recent('a'))).toBe(true);
    expect(await fixture.texts(store, list)).toEqual(['c', 'b']);
    expect(await store.remove(list, recent('c'))).toBe(true);
    expect(await fixture.texts(store, list)).toEqual(['b']);
  });

  it('removes a recent with an entry id by the id only (chapter 4)', async () => {
    const list = await filled();
    expect(await store.remove(list, recent('b'))).toBe(false);
    expect(await store.remove(list, recent('c', { entryId: 'f' }))).toBe(false);
    expect(await store.remove(list, recent('no matter', { entryId: 'e' }))).toBe(true);
    expect(await fixture.texts(store, list)).toEqual(['c', 'a']);
  });

  it('answers NONE if there is no such recent or list', async () => {
    const list = await filled();
    expect(await store.remove(list, recent('A'))).toBe(false);
    expect(await store.remove(list, recent('a'))).toBe(true);
    expect(await store.remove(list, recent('a'))).toBe(false);
    expect(await store.remove(fixture.list(), recent('a'))).toBe(false);
    expect(await store.drop(fixture.list())).toBe(false);
  });

  it('leaves no key after the last recent is removed', async () => {
    const list = fixture.list();
    await store.add(list, recent('a'), 100);
    await store.remove(list, recent('a'));
    expect(await fixture.redis.command('EXISTS', fixture.key(list))).toBe('0');
    expect(await store.drop(list)).toBe(false);
  });

  it('removes a whole list, and no other list (chapter 4)', async () => {
    const [list, other] = [await filled(), await filled()];
    expect(await store.drop(list)).toBe(true);
    expect(await store.read(list)).toEqual([]);
    expect(await store.drop(list)).toBe(false);
    expect(await fixture.texts(store, other)).toEqual(['c', 'b', 'a']);
    await store.add(list, recent('new'), 100);
    expect(await fixture.texts(store, list)).toEqual(['new']);
  });

  it('leaves no key that does not expire', async () => {
    await fixture.redis.command('FLUSHALL');
    const [list, other] = [await filled(), await filled()];
    await store.remove(list, recent('a'));
    await store.drop(list);
    await store.drop(other);
    const keys = (await fixture.redis.command('KEYS', '*')) as string[];
    expect(keys).not.toEqual([]);
    for (const key of keys) {
      const ttlMs = Number(await fixture.redis.command('PTTL', key));
      expect([key, ttlMs > 0 && ttlMs <= MARK_MS]).toEqual([key, true]);
    }
  });
});

/** The model of a list of recents. */
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

/** The names are few, so that they collide. Some look like stored elements. */
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
  it('equal the model after any sequence of operations (chapter 3, 4)', async () => {
    await assertWithinTime(
      fc.asyncProperty(fc.array(anyStep, { maxLength: 25 }), async (steps) => {
        const [list, model] = [fixture.list(), new ModelList()];
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
    );
  });

  it('are separate for similar names', async () => {
    const lists = ['x', 'x:', '{x}', 'list:x', 'x\u0301', '*', '\0'];
    for (const list of lists) await store.add(list, recent(`of ${list}`), 100);
    for (const list of lists) expect(await fixture.texts(store, list)).toEqual([`of ${list}`]);
  });

  it('keep all of 60 recents that two stores add at the same time (chapter 3)', async () => {
    const [list, stores] = [fixture.list(), await Promise.all([fixture.store(), fixture.store()])];
    const texts = Array.from({ length: 60 }, (_, i) => `name ${i}`);
    await Promise.all(
      texts.map((text, i) => (stores[i % 2] as RedisRecentsStore).add(list, recent(text), 100)),
    );
    expect((await fixture.texts(store, list)).sort()).toEqual([...texts].sort());
  });

  /** `count` recents of equal size with different texts. */
  const many = (count: number, textBytes: number, idBytes: number, payload: Uint8Array) =>
    Array.from({ length: count }, (_, i) =>
      recent(`${i} `.padEnd(textBytes, 'x'), { entryId: `${i} `.padEnd(idBytes, 'y'), payload }),
    );
  const bytes = (length: number) => Uint8Array.from({ length }, (_, i) => 255 - (i % 256));
  const memoryOf = async (list: string) =>
    Number(await fixture.redis.command('MEMORY', 'USAGE', fixture.key(list), 'SAMPLES', 0));

  it('have room for 1,000 recents of 400 bytes', async () => {
    const list = fixture.list();
    const all = many(1000, 100, 100, bytes(200));
    for (const one of all) await store.add(list, one, 1000);
    expect(plain(await store.read(list))).toEqual(all.reverse());
  });

  it('keep at most 512 KiB of 1,000 recents of the largest size, the latest first', async () => {
    const list = fixture.list();
    const all = many(1000, 512, 512, bytes(1024));
    for (const one of all) await store.add(list, one, 1000);
    const read = plain(await store.read(list));
    expect(read.length).toBeGreaterThanOrEqual(230);
    expect(read).toEqual(all.reverse().slice(0, read.length));
    expect(await memoryOf(list)).toBeLessThan(540_000);
  });

  it('evict old small recents to make room for large ones', async () => {
    const list = fixture.list();
    for (const one of many(1000, 250, 150, bytes(0))) await store.add(list, one, 1000);
    const large = many(200, 512, 511, bytes(1024));
    for (const one of large) await store.add(list, one, 1000);
    const read = plain(await store.read(list));
    expect(read.slice(0, 200)).toEqual(large.reverse());
    expect(read.length).toBeGreaterThan(250);
    expect(await memoryOf(list)).toBeLessThan(540_000);
  });

  it('are empty after Redis was flushed, and accept new recents', async () => {
    const list = fixture.list();
    await store.add(list, recent('before'), 100);
    await fixture.redis.command('FLUSHALL');
    expect(await store.read(list)).toEqual([]);
    expect(await store.remove(list, recent('before'))).toBe(false);
    await store.add(list, recent('after'), 100);
    expect(await fixture.texts(store, list)).toEqual(['after']);
  });

  it('work after SCRIPT FLUSH', async () => {
    await fixture.redis.command('SCRIPT', 'FLUSH');
    const list = fixture.list();
    const one = recent('a', { payload: Uint8Array.of(0, 255, 128) });
    await store.add(list, one, 100);
    expect(plain(await store.read(list))).toEqual([one]);
  });

  describe('when the memory of Redis is full', () => {
    afterEach(() => fixture.redis.command('CONFIG', 'SET', 'maxmemory', '0'));
    const fill = () => fixture.redis.command('CONFIG', 'SET', 'maxmemory', '1mb');

    it('refuse an add as not carried out', async () => {
      const list = fixture.list();
      await store.add(list, recent('a'), 100);
      await fill();
      expect(await failureOf(store.add(list, recent('b'), 100))).toMatchObject({
        kind: 'full',
        carriedOut: 'no',
      });
      expect(await fixture.texts(store, list)).toEqual(['a']);
    });

    it('can still be read, changed by a removal and deleted', async () => {
      const list = fixture.list();
      for (const text of ['a', 'b', 'c']) await store.add(list, recent(text), 100);
      await fill();
      expect(await store.remove(list, recent('b'))).toBe(true);
      expect(await fixture.texts(store, list)).toEqual(['c', 'a']);
      expect(await store.drop(list)).toBe(true);
      expect(await store.read(list)).toEqual([]);
    });
  });

  describe('when the connection breaks', () => {
    let proxy: TcpProxy;
    let proxied: RedisRecentsStore;
    beforeAll(async () => {
      proxy = await TcpProxy.open({ targetPort: fixture.redis.port, protocol: 'redis' });
      proxied = await fixture.store({ url: serverUrl(proxy.address) });
    });
    afterAll(() => proxy.close());

    const isScript = ({ name }: RedisCommand) => name === 'EVALSHA' || name === 'EVAL';
    const isRead = ({ name }: RedisCommand) => name === 'LRANGE';

    async function filled(): Promise<string> {
      const list = fixture.list();
      for (const text of ['a', 'b']) await store.add(list, recent(text), 100);
      return list;
    }

    it.each([
      ['an addition', (list: string) => proxied.add(list, recent('a'), 100), undefined, ['a', 'b']],
      ['a removal', (list: string) => proxied.remove(list, recent('a')), true, ['b']],
      [
        'a removal of an absent recent',
        (list: string) => proxied.remove(list, recent('x')),
        false,
        ['b', 'a'],
      ],
      ['a deletion', (list: string) => proxied.drop(list), true, []],
    ] as const)('carry out %s once, and answer with its result', async (_what, operate, answer, left) => {
      for (const lose of [proxy.dropNextReply.bind(proxy), proxy.dropNextRequest.bind(proxy)]) {
        const list = await filled();
        const lost = lose(isScript);
        expect(await operate(list)).toBe(answer);
        await lost;
        expect(await fixture.texts(store, list)).toEqual(left);
      }
    });

    it('answer a read by sending it again', async () => {
      const list = await filled();
      const lost = proxy.dropNextReply(isRead);
      expect(await fixture.texts(proxied, list)).toEqual(['b', 'a']);
      await lost;
    });

    it.each([
      ['removal', (list: string) => proxied.remove(list, recent('a'))],
      ['deletion', (list: string) => proxied.drop(list)],
    ] as const)('keep recents added after a %s that is sent again', async (_what, operate) => {
      const list = await filled();
      const lost = proxy.dropNextReply(isScript);
      const answer = operate(list);
      await lost;
      // Another server's add reaches Redis before the repeated command.
      proxy.blackHole('toTarget');
      await store.add(list, recent('a'), 100);
      proxy.passEverything();
      expect(await answer).toBe(true);
      expect((await fixture.texts(store, list))[0]).toBe('a');
    });
  });
});
