import {
  dictionaryCreate,
  dictionaryDrop,
  dictionaryEndImport,
  dictionaryInspect,
  dictionaryStartImport,
  dictionarySweep,
  dictionaryWrite,
} from '../../generated/redis/scripts';
import { withoutClock } from '../support/dictionary-budgets';
import { DictionaryFixture, foldedEntry, giantEntry, putArgs } from '../support/dictionary-fixture';

describe('dictionary-sweep', () => {
  let fixture: DictionaryFixture;
  beforeAll(async () => {
    fixture = await DictionaryFixture.open();
  });
  afterAll(() => fixture?.close());

  /** The script, changed to end a step after about 600 parts of the index. */
  const shortSweep = withoutClock(dictionarySweep, 5);
  const PROFILE = { accents: 'kept', typos: true, foldVersion: 1 } as const;
  const create = (name: string) => fixture.run(dictionaryCreate, name, 'kt1');
  const drop = (name: string) => fixture.run(dictionaryDrop, name);
  const start = (name: string, id: string) => fixture.run(dictionaryStartImport, name, '', 'kt1', id);
  const put = (name: string, id: string, ...args: string[]) =>
    fixture.run(dictionaryWrite, name, 'kt1', id, ...args);
  const one = putArgs(foldedEntry('a', 'a'));
  const sweep = async (name: string) => (await fixture.run(shortSweep, name))[0];
  const hasNothing = async (name: string) =>
    (await fixture.redis.command('EXISTS', fixture.key(name))) === '0';

  /** Sweeps until the reply is not MORE. Returns the last reply and the number of MORE replies. */
  async function swept(name: string): Promise<[last: unknown, more: number]> {
    for (let more = 0; ; more += 1) {
      const answer = await sweep(name);
      if (answer !== 'MORE') return [answer, more];
    }
  }

  it('answers GONE if there is no dictionary, and creates none', async () => {
    const name = fixture.name();
    expect(await sweep(name)).toBe('GONE');
    expect(await hasNothing(name)).toBe(true);
  });

  it('answers CLEAN if nothing is left to do, and changes nothing', async () => {
    const name = fixture.name();
    await create(name);
    await put(name, '', ...one);
    const before = await fixture.redis.command('HGETALL', fixture.key(name));
    expect(await sweep(name)).toBe('CLEAN');
    expect(await fixture.redis.command('HGETALL', fixture.key(name))).toEqual(before);
    expect((await fixture.run(dictionaryInspect, name)).slice(0, 4)).toEqual(['OK', 'kt1', '1', '1']);
  });

  it.each([true, false])('answers BUILDING during an import (dictionary exists: %s)', async (made) => {
    const name = fixture.name();
    if (made) await create(name);
    await start(name, 'import');
    await put(name, 'import', ...one);
    expect(await swept(name)).toEqual(['BUILDING', 0]);
    expect((await put(name, 'import', ...putArgs(foldedEntry('b', 'b'))))[0]).toBe('OK');
    await fixture.run(dictionaryEndImport, name, 'import', 'commit');
    expect((await swept(name))[0]).toBe('CLEAN');
    expect((await fixture.run(dictionaryInspect, name))[3]).toBe('2');
  });

  it.each([true, false])(
    'abandons an import that is silent for a minute (dictionary exists: %s)',
    async (made) => {
      const name = fixture.name();
      if (made) await create(name);
      await start(name, 'import');
      await put(name, 'import', ...one);
      await fixture.silenceImport(name, 'import', 59);
      expect((await swept(name))[0]).toBe('BUILDING');
      await fixture.silenceImport(name, 'import', 2);
      expect((await swept(name))[0]).toBe(made ? 'CLEAN' : 'GONE');
      expect(await put(name, 'import', ...one)).toEqual(['LOST']);
      expect(await fixture.check(name)).toEqual([]);
      expect(await hasNothing(name)).toBe(!made);
    },
  );

  it('keeps an import that received a batch within the last minute', async () => {
    const name = fixture.name();
    await start(name, 'import');
    await fixture.silenceImport(name, 'import', 61);
    await put(name, 'import', ...one);
    expect((await swept(name))[0]).toBe('BUILDING');
  });

  it('removes a large dropped generation in several steps, while a new dictionary has its name', async () => {
    const name = fixture.name();
    await create(name);
    const entries = Array.from({ length: 1500 }, (_, i) =>
      foldedEntry(`id ${i}`, `the text of entry number ${(i * 7919) % 1500}, as it is`),
    );
    for (let i = 0; i < entries.length; i += 1000) {
      await fixture.store.put(name, PROFILE, entries.slice(i, i + 1000));
    }
    await drop(name);
    expect(await sweep(name)).toBe('MORE');
    expect(await create(name)).toEqual(['OK']);
    await put(name, '', ...one);
    const [last, more] = await swept(name);
    expect(last).toBe('CLEAN');
    expect(more).toBeGreaterThan(0);
    expect(await fixture.check(name)).toEqual([]);
    expect((await fixture.run(dictionaryInspect, name)).slice(0, 4)).toEqual(['OK', 'kt1', '2', '1']);
    await drop(name);
    expect((await swept(name))[0]).toBe('GONE');
    expect(await hasNothing(name)).toBe(true);
    expect(await fixture.check(name)).toEqual([]);
  });

  it('finishes an unfinished change in several steps', async () => {
    const name = fixture.name();
    await create(name);
    await put(name, '', ...putArgs(giantEntry('giant')));
    expect(await fixture.meta(name, 'jobs')).not.toBeNull();
    const [last, more] = await swept(name);
    expect(last).toBe('CLEAN');
    expect(more).toBeGreaterThan(0);
    expect(await fixture.meta(name, 'jobs')).toBeNull();
    expect((await fixture.run(dictionaryInspect, name))[3]).toBe('1');
    expect(await fixture.check(name)).toEqual([]);
  });

  it('forgets an unfinished change of a dropped dictionary', async () => {
    const name = fixture.name();
    await create(name);
    await put(name, '', ...putArgs(giantEntry('giant')));
    expect(await fixture.meta(name, 'jobs')).not.toBeNull();
    await drop(name);
    expect((await swept(name))[0]).toBe('GONE');
    expect(await hasNothing(name)).toBe(true);
    expect(await fixture.check(name)).toEqual([]);
  });

  it('forgets an unfinished change of an abandoned import of an existing dictionary', async () => {
    const name = fixture.name();
    await create(name);
    await start(name, 'import');
    await put(name, 'import', ...putArgs(giantEntry('giant')));
    expect(await fixture.meta(name, 'jobs')).not.toBeNull();
    await fixture.run(dictionaryEndImport, name, 'import', 'abandon');
    // The next script does not continue the change of the abandoned import.
    expect(await put(name, '', ...one)).toEqual(['OK', '1', '1', ['1']]);
    expect(await fixture.meta(name, 'jobs')).toBeNull();
    expect((await swept(name))[0]).toBe('CLEAN');
    expect(await fixture.check(name)).toEqual([]);
  });
});
