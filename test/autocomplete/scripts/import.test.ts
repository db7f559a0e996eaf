import {
  entriesFinish,
  entriesImportCommit,
  entriesImportFollow,
  entriesImportPut,
  entriesImportStart,
  entriesPut,
  entriesPutStaged,
  entriesSelect,
} from '../../../generated/redis/scripts';
import { pack } from '../../../src/autocomplete/redis/packing';
import { StoreFailure } from '../../../src/base/errors';
import type { Command, Commands } from '../../../src/redis/commands';
import {
  contentOf,
  EntriesFixture,
  IN_TIME,
  PROFILE,
  stored,
  storedMany,
  storeOf,
} from '../../support/autocomplete/entries-fixture';

let fixture: EntriesFixture;
beforeAll(async () => {
  fixture = await EntriesFixture.open();
});
afterAll(() => fixture.close());

const OTHER_PROFILE = { accents: 'dropped', typos: true } as const;
const MINUTE_US = 60_000_000;

describe('an import of entries', () => {
  const start = (name: string, id = 'import') => fixture.store.startImport(name, id, undefined, PROFILE);
  const silence = async (name: string, id: string, us: number) => {
    const state = fixture.partKey(name, 'state', String(await fixture.meta(name, `import:${id}`)));
    await fixture.redis.command('HINCRBY', state, 'heard', -us);
  };

  it('creates a dictionary with its first commit', async () => {
    const name = fixture.name();
    expect(await start(name)).toEqual({ kind: 'ok' });
    expect(await start(name)).toEqual({ kind: 'ok' });
    expect(await fixture.store.head(name)).toEqual({ kind: 'unknown' });
    await fixture.store.putImported(name, 'import', storedMany(3));
    expect(await fixture.store.sweep(name)).toBe('later');
    expect(await fixture.store.commitImport(name, 'import')).toEqual({ kind: 'ok' });
    expect(await fixture.head(name)).toMatchObject({ version: 1, profile: PROFILE });
    expect(Object.keys(await fixture.content(name))).toHaveLength(3);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('changes nothing by a repeated start after its commit', async () => {
    const name = await fixture.dictionary(storedMany(10));
    const repeat = (...time: string[]) =>
      fixture.run(entriesImportStart, name, '', 'kt', 'import', 'new generation', '', ...time);
    expect(await repeat(...IN_TIME)).toEqual(['OK']);
    await fixture.run(entriesImportPut, name, 'import', '1', pack(['a', 'x', 'b', 'y']));
    expect(await fixture.run(entriesImportCommit, name, 'import', 'w', '1', '0', ...IN_TIME)).toEqual(['OK']);
    expect(await repeat(IN_TIME[0], '1')).toEqual(['OK']);
    expect(await fixture.meta(name, 'import:import')).toBeNull();
    expect(await fixture.checkAtRest(name)).toEqual([]);
    expect(Object.keys(await fixture.content(name))).toEqual(['a', 'b']);
  });

  it('changes nothing by a repeated start after the commit of another import', async () => {
    const name = await fixture.dictionary(storedMany(10));
    const repeat = (...time: string[]) =>
      fixture.run(entriesImportStart, name, '', 'kt', 'import', 'new generation', '', ...time);
    await repeat(...IN_TIME);
    await start(name, 'other');
    expect(await fixture.store.commitImport(name, 'other')).toEqual({ kind: 'ok' });
    expect(await repeat(IN_TIME[0], '1')).toEqual(['OK']);
    expect(await fixture.run(entriesImportPut, name, 'import', '1', pack(['a', 'x']))).toEqual(['LOST']);
    expect(await fixture.checkAtRest(name)).toEqual([]);
    expect(await fixture.content(name)).toEqual({});
  });

  it('does not start after the time of the start', async () => {
    const name = await fixture.dictionary();
    const late = (mayHaveRun: string) =>
      fixture.run(entriesImportStart, name, '', 'kt', 'import', 'new generation', '', '1', mayHaveRun);
    expect(await late('0')).toEqual(['LATE']);
    expect(await late('1')).toEqual(['FORGOTTEN']);
    expect(await fixture.meta(name, 'import:import')).toBeNull();
  });

  it('leaves no key if a write that it must follow is lost', async () => {
    const name = await fixture.dictionary();
    await start(name);
    await fixture.store.put(name, storedMany(60));
    await fixture.store.put(name, [stored('a')]);
    const feed = fixture.partKey(name, 'feed', String(await fixture.meta(name, 'live')));
    await fixture.redis.command('LSET', feed, '-1', pack(['other', 'id', 1, 's']));
    expect(await fixture.store.commitImport(name, 'import')).toEqual({ kind: 'lost' });
    expect(await fixture.store.drop(name)).toBe(true);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('is not called lost if a writer may have completed its commit', async () => {
    const name = await fixture.dictionary(storedMany(10));
    await start(name);
    const commit = (hasBegun: string) =>
      fixture.run(entriesImportCommit, name, 'import', 'w', '0', hasBegun, ...IN_TIME);
    await start(name, 'other');
    expect(await fixture.store.commitImport(name, 'other')).toEqual({ kind: 'ok' });
    expect(await commit('1')).toEqual(['FORGOTTEN']);
    expect(await commit('0')).toEqual(['LOST']);
  });

  it('follows a dictionary that was created since its start', async () => {
    const name = fixture.name();
    await start(name);
    expect(await fixture.store.create(name, OTHER_PROFILE)).toEqual({
      kind: 'other-profile',
      profile: PROFILE,
    });
    await fixture.store.create(name, PROFILE);
    await fixture.store.put(name, [stored('a', 'live')]);
    await fixture.store.putImported(name, 'import', [stored('a', 'imported'), stored('b')]);
    expect(await fixture.store.commitImport(name, 'import')).toEqual({ kind: 'ok' });
    expect(await fixture.content(name)).toEqual({ a: ['live', 0], b: ['record of b', 0] });
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('is refused with another profile, and as the fifth at a time', async () => {
    const name = await fixture.dictionary();
    const other = await fixture.store.startImport(name, 'x', OTHER_PROFILE, PROFILE);
    expect(other).toEqual({ kind: 'other-profile', profile: PROFILE });
    for (const id of ['1', '2', '3', '4']) expect(await start(name, id)).toEqual({ kind: 'ok' });
    expect(await start(name, '5')).toEqual({ kind: 'busy' });
    await silence(name, '3', MINUTE_US + 1);
    expect(await start(name, '5')).toEqual({ kind: 'ok' });
    expect(await fixture.store.putImported(name, '3', [stored('a')])).toEqual({ kind: 'lost' });
  });

  it('is given up after a minute without a message, and an empty batch is a message', async () => {
    const name = await fixture.dictionary();
    await start(name);
    await silence(name, 'import', MINUTE_US - 5_000_000);
    expect(await fixture.store.sweep(name)).toBe('later');
    await fixture.store.putImported(name, 'import', []);
    await silence(name, 'import', MINUTE_US - 5_000_000);
    expect(await fixture.store.sweep(name)).toBe('later');
    await silence(name, 'import', 6_000_000);
    expect(await fixture.checkAtRest(name)).toEqual([]);
    expect(await fixture.store.sweep(name)).toBe('clean');
    expect(await fixture.store.commitImport(name, 'import')).toEqual({ kind: 'lost' });
  });

  it('puts a repeated chunk once', async () => {
    const name = await fixture.dictionary();
    await fixture.run(entriesImportStart, name, '', 'kt', 'import', 'generation', '', ...IN_TIME);
    const chunk = (number: string, record: string) =>
      fixture.run(entriesImportPut, name, 'import', number, pack(['a', record]));
    for (const [number, record] of [
      ['1', 'x'],
      ['2', 'y'],
      ['1', 'x'],
    ] as const) {
      expect(await chunk(number, record)).toEqual(['OK']);
    }
    const { imports } = (await fixture.store.inspect(name)) as unknown as {
      imports: { receivedCount: number }[];
    };
    expect(imports).toMatchObject([{ receivedCount: 2 }]);
    expect(await fixture.run(entriesImportCommit, name, 'import', 'w', '2', '0', ...IN_TIME)).toEqual(['OK']);
    expect(await fixture.content(name)).toEqual({ a: ['y', 0] });
  });

  it('is lost if the store has lost a chunk', async () => {
    const name = await fixture.dictionary();
    await fixture.run(entriesImportStart, name, '', 'kt', 'import', 'generation', '', ...IN_TIME);
    const chunk = (number: string) => fixture.run(entriesImportPut, name, 'import', number, pack(['a', 'x']));
    expect(await chunk('1')).toEqual(['OK']);
    expect(await chunk('3')).toEqual(['LOST']);
    const commit = (sent: string) =>
      fixture.run(entriesImportCommit, name, 'import', 'w', sent, '0', ...IN_TIME);
    expect(await commit('2')).toEqual(['LOST']);
    expect(await fixture.content(name)).toEqual({});
    expect(await commit('1')).toEqual(['OK']);
  });

  it('of two imports, the first commit wins, and a repeated commit gets the same answer', async () => {
    const name = await fixture.dictionary();
    for (const id of ['1', '2']) {
      await start(name, id);
      await fixture.store.putImported(name, id, [stored(id)]);
    }
    expect(await fixture.store.commitImport(name, '2')).toEqual({ kind: 'ok' });
    expect(await fixture.store.commitImport(name, '1')).toEqual({ kind: 'lost' });
    expect(await fixture.store.commitImport(name, '2')).toEqual({ kind: 'ok' });
    expect(await fixture.content(name)).toEqual({ 2: ['record of 2', 0] });
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('follows many writes in bounded steps, and commits only with all writes', async () => {
    const name = await fixture.dictionary();
    await start(name);
    for (let i = 0; i < 10; i += 1) await fixture.store.put(name, storedMany(100, i * 100));
    await fixture.store.put(name, storedMany(500, 1000));
    const commit = () => fixture.run(entriesImportCommit, name, 'import', 'w', '0', '0', ...IN_TIME);
    expect(await commit()).toEqual(['AGAIN']);
    expect(await fixture.run(entriesImportFollow, name, 'import')).toEqual(['AGAIN']);
    expect(await fixture.run(entriesImportCommit, name, 'import', 'w', '0', '0', '1', '0')).toEqual(['LATE']);
    let steps = 2;
    while ((await commit())[0] === 'AGAIN') steps += 1;
    expect(steps).toBe(14);
    expect(Object.keys(await fixture.content(name))).toHaveLength(1500);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('first finishes a large put, so that the replaced generation has all its writes', async () => {
    const name = await fixture.dictionary([stored('a', 'old')]);
    await start(name);
    await fixture.store.putImported(name, 'import', [stored('id 0', 'imported'), stored('b')]);
    for (let n = 0; n < 3; n += 1) {
      const key = fixture.partKey(name, 'stage', 'big', n);
      await fixture.redis.command('SET', key, pack([`id ${n}`, 'put']), 'PX', 60_000);
    }
    expect(await fixture.run(entriesPutStaged, name, 'big', '3', ...IN_TIME)).toEqual(['OK', '1']);
    const replaced = await fixture.head(name);
    expect(await fixture.store.commitImport(name, 'import')).toEqual({ kind: 'ok' });
    expect(await fixture.meta(name, 'pending')).toBeNull();
    const put = { 'id 0': ['put', 0], 'id 1': ['put', 0], 'id 2': ['put', 0] } as const;
    expect(await fixture.content(name)).toEqual({ b: ['record of b', 0], ...put });
    const read = await fixture.store.readBuckets(name, replaced.generationId, 0);
    expect(read).toMatchObject({ kind: 'buckets', version: replaced.version, tail: replaced.tail });
    expect(contentOf(read)).toEqual({ a: ['old', 0], ...put });
    expect(await fixture.checkAtRest(name)).toEqual([]);
    await fixture.redis.command('HSET', fixture.key(name), `garbage:${replaced.generationId}`, 1);
    expect(await fixture.checkAtRest(name)).toEqual([]);
    expect(await fixture.redis.command('KEYS', fixture.partKey(name, 'stage', '*'))).toEqual([]);
  });

  it('that is silent and was never committed does not decide the profile of the dictionary', async () => {
    for (const way of ['creation', 'import']) {
      const name = fixture.name();
      await start(name);
      const other = { kind: 'other-profile', profile: PROFILE };
      const again = () =>
        way === 'creation'
          ? fixture.store.create(name, OTHER_PROFILE)
          : fixture.store.startImport(name, 'next', OTHER_PROFILE, PROFILE);
      expect(await again()).toEqual(other);
      await silence(name, 'import', MINUTE_US + 1);
      expect(await again()).toEqual({ kind: 'ok' });
      expect(await fixture.meta(name, 'profile')).toBe('dt');
      expect(await fixture.store.putImported(name, 'import', [stored('a')])).toEqual({ kind: 'lost' });
      expect(await fixture.checkAtRest(name)).toEqual([]);
    }
  });

  it('counts in the memory of the dictionary, and so does the replaced generation while it is kept', async () => {
    const name = await fixture.dictionary(storedMany(1000));
    const memory = async () => {
      const view = await fixture.store.inspect(name);
      return view.kind === 'ok' ? view.memoryBytes : NaN;
    };
    const before = await memory();
    const live = String(await fixture.meta(name, 'live'));
    await start(name);
    await fixture.store.putImported(name, 'import', storedMany(1000));
    expect(await memory()).toBeGreaterThan(1.3 * before);
    await fixture.store.commitImport(name, 'import');
    expect(await memory()).toBeGreaterThan(1.3 * before);
    await fixture.redis.command('HSET', fixture.key(name), `garbage:${live}`, 1);
    while ((await fixture.store.sweep(name)) === 'more');
    expect(await memory()).toBeLessThan(0.8 * before);
  });

  it('keeps the ids of many writes in small keys, and removes these keys after its end', async () => {
    const name = await fixture.dictionary();
    for (const end of ['commitImport', 'abandonImport'] as const) {
      await start(name);
      const ids = Array.from({ length: 2600 }, (_, i) => `${i} `.padEnd(512, 'x'));
      await fixture.store.delete(name, ids);
      await fixture.store.putImported(name, 'import', [stored('a'), ...ids.map((id) => stored(id))]);
      expect(await fixture.checkAtRest(name)).toEqual([]);
      await fixture.store[end](name, 'import');
      expect(await fixture.checkAtRest(name)).toEqual([]);
      expect(await fixture.redis.command('KEYS', fixture.partKey(name, 'e', '*:pins', '*'))).toEqual([]);
    }
    expect(Object.keys(await fixture.content(name))).toEqual(['a']);
  });

  it('is lost if the feed lacks a write, or has another history', async () => {
    for (const damage of ['trim', 'fork']) {
      const name = await fixture.dictionary();
      await start(name);
      for (let i = 0; i < 3; i += 1) await fixture.store.put(name, [stored(`${i}`)]);
      const live = String(await fixture.meta(name, 'live'));
      if (damage === 'trim')
        await fixture.redis.command('LTRIM', fixture.partKey(name, 'feed', live), -2, -1);
      const state = fixture.partKey(name, 'state', String(await fixture.meta(name, 'import:import')));
      if (damage === 'fork') await fixture.redis.command('HSET', state, 'at', 'other');
      expect(await fixture.store.commitImport(name, 'import')).toEqual({ kind: 'lost' });
    }
  });

  it('is lost when the dictionary is deleted', async () => {
    const name = await fixture.dictionary();
    await start(name);
    expect(await fixture.store.drop(name)).toBe(true);
    expect(await fixture.store.putImported(name, 'import', [stored('a')])).toEqual({ kind: 'lost' });
    expect(await fixture.store.commitImport(name, 'import')).toEqual({ kind: 'lost' });
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });
});

describe('the commit of an import that must follow many writes', () => {
  const commit = (name: string, id: string, time: readonly string[] = IN_TIME) =>
    fixture.run(entriesImportCommit, name, id, `write of ${id}`, '0', '0', ...time);
  const put = (name: string) => fixture.run(entriesPut, name, 'a put', pack(['late', 'x']), ...IN_TIME);
  const finish = (name: string) => fixture.run(entriesFinish, name);

  /** A dictionary with 500 entries that the imports '1' and '2' have not followed. */
  async function withImports(): Promise<string> {
    const name = await fixture.dictionary();
    for (const id of ['1', '2']) await fixture.store.startImport(name, id, undefined, PROFILE);
    for (let i = 0; i < 5; i += 1) await fixture.store.put(name, storedMany(100, i * 100));
    return name;
  }

  it('makes writes wait, and their servers complete the commit', async () => {
    const name = await withImports();
    const { version, generationId } = await fixture.head(name);
    expect(await commit(name, '1')).toEqual(['AGAIN']);
    expect(await put(name)).toEqual(['AGAIN']);
    expect(await fixture.run(entriesSelect, name, 's', 'id 0', '1', ...IN_TIME)).toEqual(['AGAIN']);
    expect((await fixture.head(name)).version).toBe(version);
    let steps = 0;
    while ((await finish(name))[0] === 'AGAIN') steps += 1;
    expect(steps).toBeLessThanOrEqual(5);
    const after = await fixture.head(name);
    expect(after.version).toBe(version + 1);
    expect(after.generationId).not.toBe(generationId);
    expect(await put(name)).toEqual(['OK', '1']);
    expect(await commit(name, '1')).toEqual(['OK']);
    expect(Object.keys(await fixture.content(name))).toHaveLength(501);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('is completed by a sweep', async () => {
    const name = await withImports();
    expect(await commit(name, '1')).toEqual(['AGAIN']);
    while ((await fixture.store.sweep(name)) === 'more');
    expect(await commit(name, '1')).toEqual(['OK']);
  });

  it('goes before the commit of another import', async () => {
    const name = await withImports();
    expect(await commit(name, '1')).toEqual(['AGAIN']);
    let word;
    do [word] = await commit(name, '2');
    while (word === 'AGAIN');
    expect(word).toBe('LOST');
    expect(await commit(name, '1')).toEqual(['OK']);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('is never completed after its time', async () => {
    for (const isSentAgain of [true, false]) {
      const name = await withImports();
      const { generationId } = await fixture.head(name);
      const soon = (await fixture.redis.command('TIME')) as [string, string];
      const until = String(Number(soon[0]) * 1e6 + Number(soon[1]) + 50_000);
      if (isSentAgain) {
        expect(await commit(name, '1')).toEqual(['AGAIN']);
        expect(await commit(name, '1', ['1', '0'])).toEqual(['LATE']);
      } else {
        expect(await commit(name, '1', [until, '0'])).toEqual(['AGAIN']);
        await new Promise((resolve) => setTimeout(resolve, 60));
      }
      expect(await put(name)).toEqual(['OK', '1']);
      expect(await finish(name)).toEqual(['OK']);
      expect((await fixture.head(name)).generationId).toBe(generationId);
    }
  });

  it('is given up with its import', async () => {
    const name = await withImports();
    expect(await commit(name, '1')).toEqual(['AGAIN']);
    await fixture.store.abandonImport(name, '1');
    expect(await put(name)).toEqual(['OK', '1']);
    expect(await fixture.meta(name, 'committing')).toBeNull();
  });

  it('has an unknown outcome if it fails after its first step, because a writer may complete it', async () => {
    const name = await withImports();
    let commits = 0;
    const commands: Commands = Object.assign(Object.create(fixture.commands) as Commands, {
      send: <T>(command: Command<T>) =>
        typeof command.run === 'object' && command.run.isTimed && ++commits > 1
          ? Promise.reject(new StoreFailure('no', 'overloaded'))
          : fixture.commands.send(command),
    });
    const failed = storeOf(commands).commitImport(name, '1');
    await expect(failed).rejects.toMatchObject({ carriedOut: 'unknown', kind: 'overloaded' });
    await fixture.other.put(name, [stored('later')]);
    expect(await commit(name, '1')).toEqual(['OK']);
    expect(Object.keys(await fixture.content(name))).toHaveLength(501);
  });

  it('ends while other servers write without a pause', async () => {
    const name = await fixture.dictionary();
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    let isOver = false;
    let count = 0;
    const writer = async (number: number) => {
      while (!isOver) {
        await fixture.other.put(name, storedMany(number === 0 ? 300 : 100, 1000 * number));
        count += 1;
      }
    };
    const writers = [0, 1, 2, 3, 4, 5].map(writer);
    const imported = storedMany(100, 10_000);
    expect(await fixture.store.putImported(name, 'import', imported)).toEqual({ kind: 'ok' });
    const before = count;
    expect(await fixture.store.commitImport(name, 'import')).toEqual({ kind: 'ok' });
    isOver = true;
    await Promise.all(writers);
    expect(before).toBeGreaterThan(0);
    expect(Object.keys(await fixture.content(name))).toHaveLength(100 + 300 + 500);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });
});
