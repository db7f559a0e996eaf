import {
  entriesDelete,
  entriesFinish,
  entriesPut,
  entriesPutStaged,
  entriesSelect,
  entriesSweep,
} from '../../generated/redis/scripts';
import { pack } from '../../src/autocomplete/redis/packing';
import { EntriesFixture, IN_TIME, PROFILE, storedMany } from '../support/autocomplete/entries-fixture';

const chunk = (...values: string[]) => pack(values);
const AGAIN_AFTER_LOSS = [IN_TIME[0], '1'];
const TOO_LATE = ['1', '0'];

describe('a write of entries', () => {
  let fixture: EntriesFixture;
  beforeAll(async () => {
    fixture = await EntriesFixture.open();
  });
  afterAll(() => fixture?.close());

  const scripts: readonly [string, string, (string | Buffer)[]][] = [
    ['put', entriesPut, [chunk('a', 'x')]],
    ['put of staged chunks', entriesPutStaged, ['2']],
    ['deletion', entriesDelete, [chunk('a')]],
    ['selection', entriesSelect, ['a', '1']],
  ];

  it.each(scripts)(
    '(%s) answers UNKNOWN without the dictionary, and creates no key',
    async (_, lua, args) => {
      const name = fixture.name();
      expect(await fixture.run(lua, name, 'w', ...args, ...IN_TIME)).toEqual(['UNKNOWN']);
      expect(await fixture.redis.command('EXISTS', fixture.key(name))).toBe('0');
    },
  );

  it.each(scripts)('(%s) answers FORMAT for a dictionary of a newer server', async (_, lua, args) => {
    const name = await fixture.dictionary();
    await fixture.redis.command('HSET', fixture.key(name), 'format', 3);
    expect(await fixture.run(lua, name, 'w', ...args, ...IN_TIME)).toEqual(['FORMAT', '3']);
    expect(await fixture.store.put(name, storedMany(1))).toEqual({ kind: 'too-new', format: 3 });
    expect(await fixture.store.head(name)).toEqual({ kind: 'too-new', format: 3 });
  });

  it.each(scripts)('(%s) does nothing after its time, and answers LATE', async (_, lua, args) => {
    const name = await fixture.dictionary(storedMany(3));
    const before = await fixture.head(name);
    expect(await fixture.run(lua, name, 'w', ...args, ...TOO_LATE)).toEqual(['LATE']);
    expect(await fixture.head(name)).toEqual(before);
  });

  it('answers a repeated write with the first effect, even after its time, and changes nothing', async () => {
    const name = await fixture.dictionary();
    const put = ['w1', chunk('a', 'x', 'b', 'y'), ...IN_TIME] as const;
    expect(await fixture.run(entriesPut, name, ...put)).toEqual(['OK', '1']);
    expect(await fixture.run(entriesSelect, name, 'w2', 'a', '3', ...IN_TIME)).toEqual(['OK', '3']);
    expect(await fixture.run(entriesDelete, name, 'w3', chunk('b', 'c'), ...IN_TIME)).toEqual(['OK', '1']);
    const before = await fixture.head(name);
    expect(await fixture.run(entriesPut, name, ...put)).toEqual(['OK', '1']);
    expect(await fixture.run(entriesSelect, name, 'w2', 'a', '3', ...AGAIN_AFTER_LOSS)).toEqual(['OK', '3']);
    expect(await fixture.run(entriesSelect, name, 'w2', 'a', '3', ...TOO_LATE)).toEqual(['OK', '3']);
    expect(await fixture.run(entriesDelete, name, 'w3', chunk('b', 'c'), ...IN_TIME)).toEqual(['OK', '1']);
    expect(await fixture.head(name)).toEqual(before);
    expect(await fixture.content(name)).toEqual({ a: ['x', 3] });
  });

  it('answers FORGOTTEN to a repetition if the feed has lost young writes', async () => {
    const name = await fixture.dictionary(storedMany(1));
    const generation = await fixture.meta(name, 'live');
    const [seconds] = (await fixture.redis.command('TIME')) as [string];
    const trimmedAt = (ago: number) =>
      fixture.redis.command(
        'HSET',
        fixture.partKey(name, 'state', String(generation)),
        'trimmed',
        (Number(seconds) - ago) * 1e6,
      );
    await trimmedAt(50);
    const select = (id: string, ...time: string[]) =>
      fixture.run(entriesSelect, name, id, 'id 0', '1', ...time);
    expect(await select('w1', ...AGAIN_AFTER_LOSS)).toEqual(['FORGOTTEN']);
    expect(await select('w1', ...IN_TIME)).toEqual(['OK', '1']);
    await trimmedAt(70);
    expect(await select('w2', ...AGAIN_AFTER_LOSS)).toEqual(['OK', '2']);
  });

  it('counts selections up to a bound that is exact with the largest weight', async () => {
    const name = await fixture.dictionary(storedMany(1));
    const most = 2 ** 52 - 1;
    expect(await fixture.store.select(name, 'id 0', most - 1)).toEqual({ kind: 'ok', count: most - 1 });
    expect(await fixture.store.select(name, 'id 0', 5)).toEqual({ kind: 'ok', count: most });
    expect(await fixture.content(name)).toEqual({ 'id 0': ['record 0', most] });
  });

  it('makes no version for a deletion of nothing and a selection of nothing', async () => {
    const name = await fixture.dictionary(storedMany(1));
    const before = await fixture.head(name);
    expect(await fixture.store.delete(name, ['none'])).toEqual({ kind: 'ok', deleted: 0 });
    expect(await fixture.store.select(name, 'none', 1)).toEqual({ kind: 'ok', count: undefined });
    expect(await fixture.head(name)).toEqual(before);
  });

  it('commits staged chunks at once, and every later write first finishes the put', async () => {
    const name = await fixture.dictionary([...storedMany(2, 0, 'old')]);
    for (let n = 0; n < 3; n += 1) {
      const key = fixture.partKey(name, 'stage', 'big', n);
      await fixture.redis.command('SET', key, chunk(`id ${n}`, 'new'), 'PX', 60_000);
    }
    const { version } = await fixture.head(name);
    expect(await fixture.run(entriesPutStaged, name, 'big', '3', ...IN_TIME)).toEqual(['OK', '1']);
    expect((await fixture.head(name)).version).toBe(version + 1);
    const all = { 'id 0': ['new', 0], 'id 1': ['new', 0], 'id 2': ['new', 0] };
    expect(await fixture.content(name)).toEqual(all);
    const select = () => fixture.run(entriesSelect, name, 'w', 'id 2', '1', ...IN_TIME);
    for (let n = 0; n < 3; n += 1) {
      expect(await fixture.store.startLoad(name)).toMatchObject({ version, head: { version: version + 1 } });
      expect(await fixture.checker.check(name, { unfinished: true })).toEqual([]);
      expect(await select()).toEqual(['AGAIN']);
      expect(await fixture.content(name)).toEqual(all);
    }
    expect(await select()).toEqual(['OK', '1']);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('fails, and changes nothing, while a committed put has lost a chunk, until the dictionary is deleted', async () => {
    const name = await fixture.dictionary(storedMany(300));
    await fixture.makePending(name, 3, 0);
    const chunkKey = ((await fixture.redis.command('KEYS', fixture.partKey(name, 'stage', '*'))) as string[])
      .sort()
      .at(1);
    await fixture.redis.command('DEL', String(chunkKey));
    const select = () => fixture.run(entriesSelect, name, 'w', 'id 2', '1', ...IN_TIME);
    expect(await select()).toEqual(['AGAIN']);
    const before = await fixture.redis.command('HGETALL', fixture.key(name));
    for (const refused of [
      select(),
      fixture.run(entriesSweep, name),
      fixture.run(entriesFinish, name),
      fixture.store.delete(name, ['id 1']),
    ]) {
      await expect(refused).rejects.toThrow('DAMAGED');
    }
    expect(await fixture.redis.command('HGETALL', fixture.key(name))).toEqual(before);
    expect(await fixture.store.drop(name)).toBe(true);
    while ((await fixture.store.sweep(name)) !== 'gone');
    expect(await fixture.checker.check(name)).toEqual([]);
  });

  it('fails, as loads do, if the state of the generation is lost, until the dictionary is deleted', async () => {
    const name = await fixture.dictionary(storedMany(30));
    const state = fixture.partKey(name, 'state', String(await fixture.meta(name, 'live')));
    await fixture.redis.command('DEL', state);
    for (const refused of [
      ...scripts
        .filter(([, lua]) => lua !== entriesPutStaged)
        .map(([, lua, args]) => fixture.run(lua, name, 'w', ...args, ...IN_TIME)),
      fixture.run(entriesSweep, name),
      fixture.store.startLoad(name),
      fixture.store.inspect(name),
    ]) {
      await expect(refused).rejects.toThrow('DAMAGED');
    }
    expect(await fixture.redis.command('EXISTS', state)).toBe('0');
    expect(await fixture.store.drop(name)).toBe(true);
    expect(await fixture.store.create(name, PROFILE)).toEqual({ kind: 'ok' });
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('answers EXPIRED if a staged chunk is missing, and commits nothing', async () => {
    const name = await fixture.dictionary();
    const before = await fixture.head(name);
    await fixture.redis.command(
      'SET',
      fixture.partKey(name, 'stage', 'big', 0),
      chunk('a', 'x'),
      'PX',
      60_000,
    );
    expect(await fixture.run(entriesPutStaged, name, 'big', '2', ...IN_TIME)).toEqual(['EXPIRED']);
    expect(await fixture.head(name)).toEqual(before);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('keeps large records in small buckets', async () => {
    const name = await fixture.dictionary();
    const entries = storedMany(200).map(({ entryId }) => ({ entryId, record: Buffer.alloc(16_000, 'x') }));
    await fixture.store.put(name, entries);
    expect(await fixture.checkAtRest(name)).toEqual([]);
    expect(await fixture.store.startLoad(name)).toMatchObject({ bucketCount: 391 });
    await fixture.store.delete(
      name,
      entries.map(({ entryId }) => entryId),
    );
    expect(await fixture.content(name)).toEqual({});
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });
});
