import { entriesFinish, entriesImportCommit, entriesPut, entriesSelect } from '../../generated/redis/scripts';
import { StoreFailure } from '../../src/base/errors';
import { pack } from '../../src/autocomplete/redis/packing';
import type { Command, Commands } from '../../src/redis/commands';
import {
  EntriesFixture,
  IN_TIME,
  PROFILE,
  stored,
  storedMany,
  storeOf,
} from '../support/autocomplete/entries-fixture';

describe('the commit of an import that must follow many writes', () => {
  let fixture: EntriesFixture;
  beforeAll(async () => {
    fixture = await EntriesFixture.open();
  });
  afterAll(() => fixture?.close());

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
