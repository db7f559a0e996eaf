import { entriesDrop, entriesSelect, entriesSweep } from '../../generated/redis/scripts';
import {
  EntriesFixture,
  IN_TIME,
  PROFILE,
  stored,
  storedMany,
} from '../support/autocomplete/entries-fixture';

const MINUTE_US = 60_000_000;
const BATCH = 64;

describe('the deletion and the clean-up of entries', () => {
  let fixture: EntriesFixture;
  beforeAll(async () => {
    fixture = await EntriesFixture.open();
  });
  afterAll(() => fixture?.close());

  const sweep = async (name: string) => String((await fixture.run(entriesSweep, name))[0]);
  const keyCount = async (name: string) => {
    const keys = (await fixture.redis.command('KEYS', `${fixture.partKey(name, '')}*`)) as string[];
    // The mark of a deletion expires.
    return keys.filter((key) => key !== fixture.partKey(name, 'dropped')).length;
  };
  const replace = async (name: string) => {
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    await fixture.store.putImported(name, 'import', [stored('new')]);
    await fixture.store.commitImport(name, 'import');
  };
  /** Lets the time pass until garbage may be removed. */
  const age = async (name: string, generation: string, us: number) =>
    fixture.redis.command('HINCRBY', fixture.key(name), `garbage:${generation}`, -us);

  it('a deleted dictionary does not exist, and its keys are removed in steps of at most 64 keys', async () => {
    const name = await fixture.dictionary();
    for (let i = 0; i < 8; i += 1) await fixture.store.put(name, storedMany(1000, i * 1000));
    expect(await fixture.store.drop(name)).toBe(true);
    expect(await fixture.store.head(name)).toEqual({ kind: 'unknown' });
    expect(await fixture.store.drop(name)).toBe(false);
    let left = await keyCount(name);
    expect(left).toBeGreaterThan(160);
    for (let word = 'MORE'; word === 'MORE';) {
      word = await sweep(name);
      const now = await keyCount(name);
      // The put that leaves the feed takes its ten chunks along.
      expect(left - now).toBeLessThanOrEqual(BATCH + 20);
      left = now;
    }
    expect(left).toBe(0);
    expect(await sweep(name)).toBe('GONE');
  });

  it('a deletion without the state of the dictionary removes all keys', async () => {
    const name = await fixture.dictionary(storedMany(500));
    await fixture.redis.command(
      'DEL',
      fixture.partKey(name, 'state', String(await fixture.meta(name, 'live'))),
    );
    expect(await fixture.store.drop(name)).toBe(true);
    while ((await sweep(name)) !== 'GONE');
    expect(await keyCount(name)).toBe(0);
  });

  it('the live generation survives a mark that its keys may be removed', async () => {
    const name = await fixture.dictionary(storedMany(3));
    await age(name, String(await fixture.meta(name, 'live')), -1);
    expect(await fixture.checkAtRest(name)).toEqual([]);
    expect(Object.keys(await fixture.content(name))).toHaveLength(3);
  });

  it('a replaced generation is kept if the clock is set back a little', async () => {
    const name = await fixture.dictionary([stored('new')]);
    const before = String(await fixture.meta(name, 'live'));
    const select = (...time: string[]) => fixture.run(entriesSelect, name, 'w', 'new', '1', ...time);
    expect(await select(...IN_TIME)).toEqual(['OK', '1']);
    await replace(name);
    await age(name, before, -9 * MINUTE_US);
    expect(await sweep(name)).toBe('LATER');
    expect(await select(IN_TIME[0], '1')).toEqual(['OK', '1']);
  });

  it('a repetition of a write is not done again if the replaced generation was removed too early', async () => {
    const name = await fixture.dictionary([stored('new')]);
    const before = String(await fixture.meta(name, 'live'));
    const select = (...time: string[]) => fixture.run(entriesSelect, name, 'w', 'new', '1', ...time);
    await select(...IN_TIME);
    await replace(name);
    await age(name, before, -11 * MINUTE_US);
    while ((await sweep(name)) === 'MORE');
    expect(await fixture.meta(name, 'previous')).toBeNull();
    expect(await select(IN_TIME[0], '1')).toEqual(['FORGOTTEN']);
    expect(await fixture.content(name)).toMatchObject({ new: [expect.anything(), 1] });
  });

  it('a repeated deletion gets the same answer, also after its time, and does not delete a new dictionary', async () => {
    const name = await fixture.dictionary(storedMany(2));
    const drop = (id: string, ...time: string[]) => fixture.run(entriesDrop, name, id, ...time);
    expect(await drop('w', '1', '0')).toEqual(['LATE']);
    expect(await drop('w', ...IN_TIME)).toEqual(['OK']);
    expect(await drop('w', IN_TIME[0], '1')).toEqual(['OK']);
    expect(await drop('w', '1', '1')).toEqual(['OK']);
    expect(await drop('v', ...IN_TIME)).toEqual(['UNKNOWN']);
    await fixture.store.create(name, { accents: 'dropped', typos: false });
    expect(await drop('w', '1', '1')).toEqual(['OK']);
    expect(await fixture.head(name)).toMatchObject({ profile: { accents: 'dropped', typos: false } });
    expect(await fixture.content(name)).toEqual({});
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('a deletion removes the chunks of all puts in a long feed, and an unfinished put', async () => {
    const name = await fixture.dictionary(storedMany(150));
    for (let i = 0; i < 100; i += 1) await fixture.store.select(name, 'id 1', 1);
    await fixture.store.put(name, storedMany(150, 100));
    await fixture.makePending(name, 2, 1);
    expect(await fixture.store.drop(name)).toBe(true);
    expect(await fixture.meta(name, 'pending')).toBeNull();
    await fixture.store.create(name, PROFILE);
    await fixture.store.put(name, [stored('new')]);
    expect(Object.keys(await fixture.content(name))).toEqual(['new']);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('a deletion removes an import of a dictionary that does not exist yet', async () => {
    const name = fixture.name();
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    expect(await fixture.store.drop(name)).toBe(false);
    expect(await fixture.store.commitImport(name, 'import')).toEqual({ kind: 'lost' });
    expect(await fixture.checkAtRest(name)).toEqual([]);
    expect(await fixture.store.sweep(name)).toBe('gone');
    expect(await keyCount(name)).toBe(0);
  });

  it('keeps a replaced generation for ten minutes', async () => {
    const name = await fixture.dictionary(storedMany(100));
    const live = String(await fixture.meta(name, 'live'));
    await replace(name);
    expect(await sweep(name)).toBe('LATER');
    await age(name, live, 9 * MINUTE_US);
    expect(await sweep(name)).toBe('LATER');
    expect(await fixture.store.readBuckets(name, live, 0)).toMatchObject({ kind: 'buckets', bucketCount: 2 });
    await age(name, live, 1 * MINUTE_US);
    expect(await sweep(name)).toBe('MORE');
    expect(await fixture.store.readBuckets(name, live, 0)).toEqual({ kind: 'gap' });
    expect(await fixture.checkAtRest(name)).toEqual([]);
    expect(await sweep(name)).toBe('CLEAN');
    expect(await fixture.meta(name, 'previous')).toBeNull();
  });

  it('keeps only the last replaced generation', async () => {
    const name = await fixture.dictionary();
    await replace(name);
    const second = String(await fixture.meta(name, 'live'));
    await fixture.store.startImport(name, 'next', undefined, PROFILE);
    await fixture.store.commitImport(name, 'next');
    expect(await fixture.checkAtRest(name)).toEqual([]);
    expect(await fixture.meta(name, 'previous')).toBe(second);
    expect(await fixture.store.sweep(name)).toBe('later');
  });

  it('removes a replaced generation even if the clock was set back', async () => {
    const name = await fixture.dictionary();
    const live = String(await fixture.meta(name, 'live'));
    await replace(name);
    await age(name, live, -60 * MINUTE_US);
    expect(await sweep(name)).toBe('MORE');
  });

  it('removes an abandoned import at once', async () => {
    const name = await fixture.dictionary();
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    await fixture.store.putImported(name, 'import', storedMany(500));
    await fixture.store.put(name, [stored('a')]);
    await fixture.store.abandonImport(name, 'import');
    expect(await fixture.store.putImported(name, 'import', [stored('b')])).toEqual({ kind: 'lost' });
    expect(await fixture.checkAtRest(name)).toEqual([]);
    expect(await fixture.store.sweep(name)).toBe('clean');
  });

  it('finishes a committed put of a server that stopped', async () => {
    const name = await fixture.dictionary();
    await fixture.store.put(name, storedMany(300));
    expect(await sweep(name)).toBe('CLEAN');
    await fixture.makePending(name, 3, 1);
    expect([await sweep(name), await sweep(name)]).toEqual(['MORE', 'CLEAN']);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });
});
