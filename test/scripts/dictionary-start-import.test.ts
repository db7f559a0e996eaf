import {
  dictionaryCreate,
  dictionaryEndImport,
  dictionaryInspect,
  dictionaryStartImport,
  dictionaryWrite,
} from '../../generated/redis/scripts';
import { DictionaryFixture, foldedEntry, putArgs } from '../support/dictionary-fixture';

describe('dictionary-start-import', () => {
  let fixture: DictionaryFixture;
  beforeAll(async () => {
    fixture = await DictionaryFixture.open();
  });
  afterAll(() => fixture?.close());

  const start = (name: string, id: string, wanted = '', usual = 'kt1') =>
    fixture.run(dictionaryStartImport, name, wanted, usual, id);
  const put = (name: string, id: string, ...texts: string[]) =>
    fixture.run(
      dictionaryWrite,
      name,
      'kt1',
      id,
      ...texts.flatMap((text) => putArgs(foldedEntry(text, text))),
    );
  const end = (name: string, id: string, verb: 'commit' | 'abandon') =>
    fixture.run(dictionaryEndImport, name, id, verb);
  const inspect = (name: string) => fixture.run(dictionaryInspect, name);

  it('answers the profile in force, and gives a new dictionary the wanted profile or else the usual profile', async () => {
    const [wanted, usual] = [fixture.name(), fixture.name()];
    expect(await start(wanted, 'import', 'd-1')).toEqual(['OK', 'd-1']);
    expect(await start(usual, 'import')).toEqual(['OK', 'kt1']);
    // An existing dictionary or import keeps its own profile.
    expect(await start(wanted, 'another')).toEqual(['OK', 'd-1']);
    expect(await start(wanted, 'a third', 'd-1')).toEqual(['OK', 'd-1']);
  });

  it('answers EXISTS for a dictionary with another profile, and starts no import', async () => {
    const name = fixture.name();
    await fixture.run(dictionaryCreate, name, 'd-1');
    expect(await start(name, 'import', 'kt1')).toEqual(['EXISTS', 'd-1']);
    expect(await fixture.meta(name, 'build:import')).toBeNull();
    expect(await start(name, 'import')).toEqual(['OK', 'd-1']);
    expect(await start(name, 'import', 'kt1')).toEqual(['EXISTS', 'd-1']);
  });

  it('creates no dictionary before the first import is committed', async () => {
    const name = fixture.name();
    await start(name, 'import');
    expect(await put(name, 'import', 'a', 'b')).toEqual(['OK', '2', '1', ['1', '1']]);
    expect(await inspect(name)).toEqual(['UNKNOWN']);
    expect(await put(name, '', 'c')).toEqual(['UNKNOWN']);
    expect(await end(name, 'import', 'commit')).toEqual(['OK']);
    expect((await inspect(name)).slice(0, 4)).toEqual(['OK', 'kt1', '1', '2']);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('answers BUSY to a fifth import until one of four imports ends', async () => {
    const name = fixture.name();
    for (const id of ['1', '2', '3', '4']) expect(await start(name, id)).toEqual(['OK', 'kt1']);
    expect(await start(name, '5')).toEqual(['BUSY']);
    // The start of a running import may be repeated.
    expect(await start(name, '4')).toEqual(['OK', 'kt1']);
    await end(name, '2', 'abandon');
    expect(await start(name, '5')).toEqual(['OK', 'kt1']);
    expect(await start(name, '2')).toEqual(['BUSY']);
    await end(name, '5', 'commit');
    expect(await start(name, '2')).toEqual(['OK', 'kt1']);
  });

  it('ends an import that was silent for a minute, and starts the new import in its place', async () => {
    const name = fixture.name();
    for (const id of ['1', '2', '3', '4']) await start(name, id);
    await fixture.silenceImport(name, '3', 59);
    expect(await start(name, '5')).toEqual(['BUSY']);
    await fixture.silenceImport(name, '3', 2);
    expect(await start(name, '5')).toEqual(['OK', 'kt1']);
    expect(await put(name, '3', 'a')).toEqual(['LOST']);
    expect((await put(name, '4', 'a'))[0]).toBe('OK');
  });

  it('ends a silent import even if the clock was set back meanwhile', async () => {
    const name = fixture.name();
    for (const id of ['1', '2', '3', '4']) await start(name, id);
    await fixture.silenceImport(name, '1', -61);
    expect(await start(name, '5')).toEqual(['OK', 'kt1']);
    expect(await put(name, '1', 'a')).toEqual(['LOST']);
  });

  it.each([
    ['wants another profile', 'd-1', 'kt1'],
    ['wants any profile', 'd-1', ''],
    ['wants the same profile', 'kt1', 'kt1'],
  ])(
    'starts a new dictionary if only a silent import of the name is left and the caller %s',
    async (_what, before, wanted) => {
      const name = fixture.name();
      await start(name, 'silent', before);
      await fixture.silenceImport(name, 'silent', 61);
      expect(await start(name, 'import', wanted)).toEqual(['OK', 'kt1']);
      expect(await put(name, 'import', 'a')).toEqual(['OK', '1', '1', ['1']]);
      expect(await end(name, 'import', 'commit')).toEqual(['OK']);
      expect((await inspect(name)).slice(0, 4)).toEqual(['OK', 'kt1', '1', '1']);
      expect(await fixture.checkAtRest(name)).toEqual([]);
    },
  );

  it('continues an import that is started again with the same id, even after a minute of silence', async () => {
    const name = fixture.name();
    await start(name, 'import');
    await put(name, 'import', 'a');
    const build = await fixture.meta(name, 'build:import');
    await fixture.silenceImport(name, 'import', 61);
    expect(await start(name, 'import')).toEqual(['OK', 'kt1']);
    expect(await fixture.meta(name, 'build:import')).toBe(build);
    await put(name, 'import', 'b');
    expect(await end(name, 'import', 'commit')).toEqual(['OK']);
    expect((await inspect(name)).slice(0, 4)).toEqual(['OK', 'kt1', '1', '2']);
  });
});
