import { entriesDropOutdated } from '../../generated/redis/scripts';
import { dictionaryKey } from '../../src/redis/keys';
import { EntriesFixture, PREFIX, PROFILE, stored } from '../support/entries-fixture';

describe('a dictionary of the first layout', () => {
  let fixture: EntriesFixture;
  beforeAll(async () => {
    fixture = await EntriesFixture.open();
  });
  afterAll(() => fixture?.close());

  /** Writes keys as the first layout had them: a live generation, and one of an import. */
  async function outdated(): Promise<string> {
    const name = fixture.name();
    const meta = dictionaryKey(PREFIX, name);
    const { redis } = fixture;
    await redis.command('HSET', meta, 'live', '1', 'build:import', '2', 'profile', 'kt1');
    for (const generation of ['1', '2']) {
      const keyOf = (part: string) => meta.replace(':d:meta:', `:d:${part}:${generation}:`);
      for (const part of ['entries', 'state', 'pins']) await redis.command('HSET', keyOf(part), 'a', 'b');
      await redis.command('ZADD', keyOf('ids'), 1, 'a');
      for (let n = 0; n < 150; n += 1) {
        await redis.command('ZADD', keyOf('parts'), n, `${n}`);
        await redis.command('ZADD', `${keyOf('part')}\0${n}`, 0, 'a');
      }
    }
    return name;
  }

  const keysOf = (name: string) => fixture.redis.command('KEYS', `*${name}*`) as Promise<string[]>;

  it('is outdated for every call, and stays unchanged', async () => {
    const { store } = fixture;
    const name = await outdated();
    const before = (await keysOf(name)).sort();
    const after = { generationId: 'g', version: 1, tail: 't' };
    for (const answer of [
      store.create(name, PROFILE),
      store.put(name, [stored('a')]),
      store.delete(name, ['a']),
      store.select(name, 'a', 1),
      store.head(name),
      store.writesAfter(name, after),
      store.startLoad(name),
      store.inspect(name),
      store.startImport(name, 'new', undefined, PROFILE),
    ]) {
      expect(await answer).toEqual({ kind: 'outdated' });
    }
    expect(await store.sweep(name)).toBe('clean');
    expect((await keysOf(name)).sort()).toEqual(before);
    await store.drop(name);
  });

  it('is deleted with all its keys, and can then be created', async () => {
    const name = await outdated();
    expect(await fixture.store.drop(name)).toBe(true);
    expect(await keysOf(name)).toEqual([]);
    expect(await fixture.store.drop(name)).toBe(false);
    expect(await fixture.store.create(name, PROFILE)).toEqual({ kind: 'ok' });
  });

  it('is deleted in steps of at most 64 parts', async () => {
    const name = await outdated();
    const drop = async () =>
      (await fixture.redis.command('EVAL', entriesDropOutdated, 1, dictionaryKey(PREFIX, name))) as string[];
    const replies: string[] = [];
    for (let before = (await keysOf(name)).length; replies.at(-1) !== 'OK';) {
      replies.push(...(await drop()));
      const after = (await keysOf(name)).length;
      // The last step of a generation removes its other five keys.
      expect(before - after).toBeLessThanOrEqual(64);
      before = after;
    }
    // Each generation has 150 parts: 64, 64, 22, and its other keys.
    expect(replies).toEqual([...Array<string>(8).fill('MORE'), 'OK']);
    expect(await keysOf(name)).toEqual([]);
    expect(await drop()).toEqual(['UNKNOWN']);
  });

  it('is deleted to its end by the sweeps of another server', async () => {
    const name = await outdated();
    // Another server has begun the deletion and stopped.
    await fixture.redis.command('HDEL', dictionaryKey(PREFIX, name), 'live', 'build:import');
    await fixture.redis.command('HSET', dictionaryKey(PREFIX, name), 'garbage:1', 1, 'garbage:2', 1);
    expect(await fixture.store.head(name)).toEqual({ kind: 'unknown' });
    let steps = 0;
    while ((await fixture.other.sweep(name)) === 'more') steps += 1;
    expect(steps).toBeGreaterThan(1);
    expect(await fixture.store.sweep(name)).toBe('gone');
    expect(await keysOf(name)).toEqual([]);
  });
});
