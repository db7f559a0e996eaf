import type { RedisRecentsStore } from '../../src/redis/autocomplete/recents-store';
import { eventually } from '../support/eventually';
import { recent, RecentsFixture } from '../support/recents-fixture';

describe('recents-remove', () => {
  let on: RecentsFixture;
  let store: RedisRecentsStore;
  beforeAll(async () => {
    on = await RecentsFixture.open();
    store = await on.store();
  });
  afterAll(() => on.close());

  async function filled(): Promise<string> {
    const list = on.list();
    for (const one of [recent('a'), recent('b', { entryId: 'e' }), recent('c', { payload: 'ta' })]) {
      await store.add(list, one, 100);
    }
    return list;
  }

  it('takes one out by its text, and leaves the others as they are (chapter 4)', async () => {
    const list = await filled();
    expect(await store.remove(list, recent('a'))).toBe(true);
    expect(await on.texts(store, list)).toEqual(['c', 'b']);
    expect(await store.remove(list, recent('c'))).toBe(true);
    expect(await on.texts(store, list)).toEqual(['b']);
  });

  it('takes one with an entry id out by that alone, whatever its text (chapter 4)', async () => {
    const list = await filled();
    expect(await store.remove(list, recent('b'))).toBe(false);
    expect(await store.remove(list, recent('c', { entryId: 'f' }))).toBe(false);
    expect(await store.remove(list, recent('no matter', { entryId: 'e' }))).toBe(true);
    expect(await on.texts(store, list)).toEqual(['c', 'a']);
  });

  it('says when there was none', async () => {
    const list = await filled();
    expect(await store.remove(list, recent('A'))).toBe(false);
    expect(await store.remove(list, recent('a'))).toBe(true);
    expect(await store.remove(list, recent('a'))).toBe(false);
    expect(await store.remove(on.list(), recent('a'))).toBe(false);
    expect(await store.drop(on.list())).toBe(false);
  });

  it('of the last one leaves no list', async () => {
    const list = on.list();
    await store.add(list, recent('a'), 100);
    await store.remove(list, recent('a'));
    expect(await on.redis.command('EXISTS', on.key(list))).toBe('0');
    expect(await store.drop(list)).toBe(false);
  });

  it('of the whole list forgets it, and no other one (chapter 4)', async () => {
    const [list, other] = [await filled(), await filled()];
    expect(await store.drop(list)).toBe(true);
    expect(await store.read(list)).toEqual([]);
    expect(await store.drop(list)).toBe(false);
    expect(await on.texts(store, other)).toEqual(['c', 'b', 'a']);
    await store.add(list, recent('new'), 100);
    expect(await on.texts(store, list)).toEqual(['new']);
  });

  it('leaves nothing behind that stays', async () => {
    await on.redis.command('FLUSHALL');
    const [list, other] = [await filled(), await filled()];
    await store.remove(list, recent('a'));
    await store.drop(list);
    await store.drop(other);
    await eventually('the marks to be gone', async () => (await on.redis.command('DBSIZE')) === '0', {
      timeoutMs: 10_000,
    });
  });
});
