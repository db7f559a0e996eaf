import {
  entriesCreate,
  entriesDelete,
  entriesDrop,
  entriesFinish,
  entriesImportAbandon,
  entriesImportCommit,
  entriesImportStart,
  entriesPut,
  entriesPutStaged,
  entriesSelect,
  entriesSweep,
} from '../../../generated/redis/scripts';
import { pack } from '../../../src/autocomplete/redis/packing';
import {
  EntriesFixture,
  IN_TIME,
  PROFILE,
  stored,
  storedMany,
} from '../../support/autocomplete/entries-fixture';

let fixture: EntriesFixture;
beforeAll(async () => {
  fixture = await EntriesFixture.open();
});
afterAll(() => fixture.close());

const chunk = (...values: string[]) => pack(values);
const AGAIN_AFTER_LOSS = [IN_TIME[0], '1'];
const TOO_LATE = ['1', '0'];

describe('a write of entries', () => {
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

const [NEVER] = IN_TIME;
/** The time arguments of a script after an earlier send that may have run. */
const REPEATED = [NEVER, '1'] as const;

describe('a repeated write of entries', () => {
  const commit = async (name: string, id: string) => {
    await fixture.store.startImport(name, id, undefined, PROFILE);
    await fixture.store.putImported(name, id, [stored('a')]);
    expect(await fixture.store.commitImport(name, id)).toEqual({ kind: 'ok' });
  };
  const recreate = async (name: string) => {
    expect(await fixture.store.drop(name)).toBe(true);
    expect(await fixture.store.create(name, PROFILE)).toEqual({ kind: 'ok' });
    await fixture.store.put(name, [stored('a')]);
  };
  const writes: readonly [string, string, (string | Buffer)[]][] = [
    ['put', entriesPut, [pack(['a', 'x'])]],
    ['deletion', entriesDelete, [pack(['a'])]],
    ['selection', entriesSelect, ['a', '2']],
  ];

  it.each(writes)('(%s) gets its first answer after the commit of an import', async (_, lua, args) => {
    const name = await fixture.dictionary([stored('a')]);
    const first = await fixture.run(lua, name, 'w', ...args, ...IN_TIME);
    await commit(name, '1');
    const before = await fixture.head(name);
    expect(await fixture.run(lua, name, 'w', ...args, ...REPEATED)).toEqual(first);
    expect(await fixture.head(name)).toEqual(before);
  });

  it.each(writes)(
    '(%s) is not done again after two commits, and a new write is done',
    async (_, lua, args) => {
      const name = await fixture.dictionary([stored('a')]);
      await fixture.run(lua, name, 'w', ...args, ...IN_TIME);
      for (const id of ['1', '2']) await commit(name, id);
      const before = await fixture.head(name);
      expect(await fixture.run(lua, name, 'w', ...args, ...REPEATED)).toEqual(['FORGOTTEN']);
      expect(await fixture.head(name)).toEqual(before);
      expect((await fixture.run(lua, name, 'new', ...args, ...IN_TIME))[0]).toBe('OK');
    },
  );

  it('is not done again after a commit if the feed before had lost young writes', async () => {
    const name = await fixture.dictionary([stored('a')]);
    const live = String(await fixture.meta(name, 'live'));
    const [seconds] = (await fixture.redis.command('TIME')) as [string];
    await fixture.redis.command('HSET', fixture.partKey(name, 'state', live), 'trimmed', `${seconds}000000`);
    await commit(name, '1');
    expect(await fixture.run(entriesSelect, name, 'w', 'a', '1', ...REPEATED)).toEqual(['FORGOTTEN']);
    expect(await fixture.run(entriesSelect, name, 'w', 'a', '1', ...IN_TIME)).toEqual(['OK', '1']);
  });

  it.each(writes)(
    '(%s) is not done in a dictionary that was deleted and created meanwhile, and a new write is done',
    async (_, lua, args) => {
      const name = await fixture.dictionary([stored('a')]);
      await fixture.run(lua, name, 'w', ...args, ...IN_TIME);
      await recreate(name);
      const before = await fixture.head(name);
      expect(await fixture.run(lua, name, 'w', ...args, ...REPEATED)).toEqual(['FORGOTTEN']);
      expect(await fixture.head(name)).toEqual(before);
      expect((await fixture.run(lua, name, 'new', ...args, ...IN_TIME))[0]).toBe('OK');
      const left = Number(await fixture.redis.command('PTTL', fixture.partKey(name, 'dropped')));
      expect(left).toBeGreaterThan(0);
      expect(await fixture.checkAtRest(name)).toEqual([]);
    },
  );

  it('(deletion of a dictionary) does not delete a dictionary that was created since', async () => {
    const name = await fixture.dictionary();
    const drop = (id: string) => fixture.run(entriesDrop, name, id, ...REPEATED);
    expect(await drop('first')).toEqual(['OK']);
    await fixture.store.create(name, PROFILE);
    expect(await drop('first')).toEqual(['OK']);
    await recreate(name);
    expect(await drop('first')).toEqual(['FORGOTTEN']);
    expect(Object.keys(await fixture.content(name))).toEqual(['a']);
  });

  it('(creation) does not create a dictionary that was deleted since', async () => {
    const name = fixture.name();
    const create = (...time: string[]) =>
      fixture.run(entriesCreate, name, 'kt', 'generation', 'w', '', ...time);
    expect(await create(...IN_TIME)).toEqual(['OK']);
    expect(await create(...REPEATED)).toEqual(['OK']);
    await fixture.store.drop(name);
    while ((await fixture.store.sweep(name)) !== 'gone');
    expect(await create(...REPEATED)).toEqual(['FORGOTTEN']);
    expect(await fixture.store.head(name)).toEqual({ kind: 'unknown' });
    expect(await fixture.run(entriesCreate, name, 'kt', 'other', 'v', '', ...IN_TIME)).toEqual(['OK']);
  });

  it('(commit) is forgotten after the commit of another import or a deletion', async () => {
    const name = await fixture.dictionary();
    const repeat = () => fixture.run(entriesImportCommit, name, 'first', 'w', '0', '0', ...REPEATED);
    await fixture.run(entriesImportStart, name, '', 'kt', 'first', 'generation', '', ...IN_TIME);
    expect(await fixture.run(entriesImportCommit, name, 'first', 'w', '0', '0', ...IN_TIME)).toEqual(['OK']);
    expect(await repeat()).toEqual(['OK']);
    await commit(name, 'second');
    expect(await repeat()).toEqual(['FORGOTTEN']);
    await fixture.store.drop(name);
    expect(await repeat()).toEqual(['FORGOTTEN']);
  });

  it('does nothing after its time, and answers FORGOTTEN, because an earlier send may still run', async () => {
    const name = await fixture.dictionary([stored('a')]);
    await fixture.run(entriesImportStart, name, '', 'kt', 'import', 'generation', '', ...IN_TIME);
    const before = await fixture.head(name);
    const late = ['1', '1'] as const;
    for (const [, lua, args] of writes) {
      expect(await fixture.run(lua, name, 'w', ...args, ...late)).toEqual(['FORGOTTEN']);
    }
    expect(await fixture.run(entriesDrop, name, 'w', ...late)).toEqual(['FORGOTTEN']);
    const commitLate = await fixture.run(entriesImportCommit, name, 'import', 'w', '0', '0', ...late);
    expect(commitLate).toEqual(['FORGOTTEN']);
    expect(await fixture.head(name)).toEqual(before);
    const other = fixture.name();
    const createLate = await fixture.run(entriesCreate, other, 'kt', 'generation', 'w', '', ...late);
    expect(createLate).toEqual(['FORGOTTEN']);
    expect(await fixture.store.head(other)).toEqual({ kind: 'unknown' });
  });
});

describe('a step on a dictionary', () => {
  it('creates a dictionary with its first version, and does not create an existing dictionary again', async () => {
    const name = await fixture.dictionary();
    const created = await fixture.head(name);
    expect(created).toMatchObject({ version: 1 });
    expect(await fixture.checkAtRest(name)).toEqual([]);
    expect(await fixture.run(entriesCreate, name, 'kt', 'other', 'w', '', ...IN_TIME)).toEqual(['OK']);
    expect(await fixture.head(name)).toEqual(created);
  });

  it('finishes a put chunk by chunk, and then has nothing to do', async () => {
    const finish = (name: string) => fixture.run(entriesFinish, name);
    expect(await finish(fixture.name())).toEqual(['UNKNOWN']);
    const name = await fixture.dictionary();
    expect(await finish(name)).toEqual(['OK']);
    await fixture.store.put(name, storedMany(300));
    await fixture.makePending(name, 3, 1);
    expect([await finish(name), await finish(name), await finish(name)]).toEqual([['AGAIN'], ['OK'], ['OK']]);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('abandons no import that does not exist', async () => {
    const name = await fixture.dictionary();
    expect(await fixture.run(entriesImportAbandon, name, 'none')).toEqual(['OK']);
    expect(await fixture.store.sweep(name)).toBe('clean');
  });

  it('deletes an entry that only an open import has', async () => {
    const name = await fixture.dictionary();
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    await fixture.store.putImported(name, 'import', [stored('a'), stored('b')]);
    expect(await fixture.store.delete(name, ['a'])).toEqual({ kind: 'ok', deleted: 0 });
    expect(await fixture.store.commitImport(name, 'import')).toEqual({ kind: 'ok' });
    expect(Object.keys(await fixture.content(name))).toEqual(['b']);
  });

  it('deletes an entry that only copies of the replaced generation have', async () => {
    const name = await fixture.dictionary([stored('a'), stored('b')]);
    const old = await fixture.head(name);
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    await fixture.store.putImported(name, 'import', [stored('b')]);
    await fixture.store.commitImport(name, 'import');
    const committed = await fixture.head(name);
    expect(await fixture.store.delete(name, ['a'])).toEqual({ kind: 'ok', deleted: 0 });
    const read = await fixture.store.writesAfter(name, committed);
    expect(read).toMatchObject({ writes: [{ changes: [{ kind: 'delete', entryId: 'a' }] }] });
    expect(committed.generationId).not.toBe(old.generationId);
  });

  it('counts an entry with several selections once', async () => {
    const name = await fixture.dictionary(storedMany(2));
    for (const count of [1, 2, 3]) await fixture.store.select(name, 'id 0', count);
    expect(await fixture.content(name)).toEqual({ 'id 0': ['record 0', 6], 'id 1': ['record 1', 0] });
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('removes 64 keys of a deleted dictionary at once', async () => {
    const name = await fixture.dictionary();
    for (let from = 0; from < 4000; from += 1000) await fixture.store.put(name, storedMany(1000, from));
    const buckets = fixture.partKey(name, 'e', String(await fixture.meta(name, 'live')), '*');
    const count = async () => ((await fixture.redis.command('KEYS', buckets)) as string[]).length;
    expect(await fixture.store.drop(name)).toBe(true);
    const before = await count();
    expect(await fixture.run(entriesSweep, name)).toEqual(['MORE']);
    expect(await count()).toBe(before - 64);
  });

  it('deletes a dictionary with its replaced generation, which is then removed at once', async () => {
    const name = await fixture.dictionary(storedMany(3));
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    await fixture.store.commitImport(name, 'import');
    expect(await fixture.store.drop(name)).toBe(true);
    let state = await fixture.store.sweep(name);
    while (state === 'more') state = await fixture.store.sweep(name);
    expect(state).toBe('gone');
  });
});
