import type { RedisRecentsStore } from '../../src/redis/autocomplete/recents-store';
import { eventually } from '../support/eventually';
import { plain, recent, RecentsFixture } from '../support/recents-fixture';

describe('recents-add', () => {
  let on: RecentsFixture;
  let store: RedisRecentsStore;
  beforeAll(async () => {
    on = await RecentsFixture.open();
    store = await on.store();
  });
  afterAll(() => on.close());

  async function added(...texts: string[]): Promise<string> {
    const list = on.list();
    for (const text of texts) await store.add(list, recent(text), 100);
    return list;
  }

  it('puts a new one in front (chapter 3)', async () => {
    expect(await on.texts(store, await added('a', 'b', 'c'))).toEqual(['c', 'b', 'a']);
  });

  it('moves the same text to the front instead of showing it twice (chapter 3)', async () => {
    expect(await on.texts(store, await added('a', 'b', 'c', 'a'))).toEqual(['a', 'c', 'b']);
    expect(await on.texts(store, await added('a', 'b', 'b'))).toEqual(['b', 'a']);
  });

  it('keeps as many as the capacity says, the oldest leave (chapter 3)', async () => {
    const list = on.list();
    for (let i = 0; i < 8; i += 1) await store.add(list, recent(`name ${i}`), 5);
    expect(await on.texts(store, list)).toEqual(['name 7', 'name 6', 'name 5', 'name 4', 'name 3']);
    await store.add(list, recent('name 3'), 5);
    expect(await on.texts(store, list)).toEqual(['name 3', 'name 7', 'name 6', 'name 5', 'name 4']);
    await store.add(list, recent('one more'), 2);
    expect(await on.texts(store, list)).toEqual(['one more', 'name 3']);
  });

  it('knows one with an entry id by that alone, and takes its new text and payload', async () => {
    const list = on.list();
    await store.add(list, recent('Anna', { entryId: 'e1', payload: 'old' }), 100);
    await store.add(list, recent('Bert', { entryId: 'e2' }), 100);
    const renamed = recent('Anna Smith', { entryId: 'e1', payload: 'new' });
    await store.add(list, renamed, 100);
    expect(plain(await store.read(list))).toEqual([renamed, recent('Bert', { entryId: 'e2' })]);
  });

  it('tells apart an entry id, a text and a payload that are alike', async () => {
    const list = on.list();
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

  it('tells texts apart to the letter: case, white space, composition', async () => {
    const texts = ['Zoé', 'zoé', 'Zoe\u0301', 'Zoé ', 'Ｚoé'];
    expect(await on.texts(store, await added(...texts))).toEqual([...texts].reverse());
  });

  it('keeps every byte of a payload, and texts of any script', async () => {
    const list = on.list();
    const payload = Uint8Array.from({ length: 1024 }, (_, i) => i % 256);
    const whole = [recent('東京 🗼\u0301', { entryId: 'ñ:{1}', payload }), recent('\0', { payload })];
    for (const one of whole) await store.add(list, one, 100);
    expect(plain(await store.read(list))).toEqual([...whole].reverse());
  });

  it('takes about 2 kB for a hundred short names', async () => {
    const [names, withIds] = [on.list(), on.list()];
    for (let i = 0; i < 100; i += 1) {
      await store.add(names, recent(`name ${i}`), 100);
      await store.add(withIds, recent(`name ${i}`, { entryId: `e${i}` }), 100);
    }
    const bytesOf = async (list: string) =>
      Number(await on.redis.command('MEMORY', 'USAGE', on.key(list), 'SAMPLES', 0));
    expect(await bytesOf(names)).toBeLessThan(2200);
    expect(await bytesOf(withIds)).toBeLessThan(2500);
  });

  describe('and the time after which an idle list goes', () => {
    const ttlOf = async (list: string) => Number(await on.redis.command('PTTL', on.key(list)));

    it('begins anew with each, and not by reading or removing', async () => {
      const list = await added('a', 'b');
      await on.redis.command('PEXPIRE', on.key(list), 100_000);
      await store.read(list);
      await store.remove(list, recent('a'));
      expect(await ttlOf(list)).toBeLessThanOrEqual(100_000);
      await store.add(list, recent('b'), 100);
      expect(await ttlOf(list)).toBeGreaterThan(3_500_000);
    });

    it('takes the whole list', async () => {
      const brief = await on.store({ retentionMs: 50 });
      const list = on.list();
      await brief.add(list, recent('a', { entryId: 'e', payload: 'p' }), 100);
      await eventually('the list to go', async () => (await store.read(list)).length === 0);
      expect(await on.redis.command('EXISTS', on.key(list))).toBe('0');
    });

    it('may be none: then it is taken from a list that had one', async () => {
      const forEver = await on.store({ retentionMs: undefined });
      const list = await added('a');
      await forEver.add(list, recent('b'), 100);
      expect(await ttlOf(list)).toBe(-1);
      await store.add(list, recent('c'), 100);
      expect(await ttlOf(list)).toBeGreaterThan(3_500_000);
    });
  });
});
