import type { RedisRecentsStore } from '../../src/autocomplete/redis/redis-recents';
import { eventually } from '../support/eventually';
import { plain, recent, RecentsFixture } from '../support/autocomplete/recents-fixture';

describe('recents-add', () => {
  let fixture: RecentsFixture;
  let store: RedisRecentsStore;
  beforeAll(async () => {
    fixture = await RecentsFixture.open();
    store = await fixture.store();
  });
  afterAll(() => fixture.close());

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
