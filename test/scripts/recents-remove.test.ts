import type { RedisRecentsStore } from '../../src/autocomplete/redis/redis-recents';
import { recent, RecentsFixture } from '../support/autocomplete/recents-fixture';

/** The mark of a removal lasts twice the command timeout. */
const MARK_MS = 4000;

describe('recents-remove', () => {
  let fixture: RecentsFixture;
  let store: RedisRecentsStore;
  beforeAll(async () => {
    fixture = await RecentsFixture.open();
    store = await fixture.store();
  });
  afterAll(() => fixture.close());

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
