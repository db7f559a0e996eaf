import {
  entriesCreate,
  entriesDelete,
  entriesDrop,
  entriesImportCommit,
  entriesImportStart,
  entriesPut,
  entriesSelect,
} from '../../generated/redis/scripts';
import { pack } from '../../src/autocomplete/redis/packing';
import { EntriesFixture, IN_TIME, PROFILE, stored } from '../support/autocomplete/entries-fixture';

const [NEVER] = IN_TIME;
/** The time arguments of a script after an earlier send that may have run. */
const REPEATED = [NEVER, '1'] as const;

describe('a repeated write of entries', () => {
  let fixture: EntriesFixture;
  beforeAll(async () => {
    fixture = await EntriesFixture.open();
  });
  afterAll(() => fixture?.close());

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
