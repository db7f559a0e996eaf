import { dictionaryWrite } from '../../generated/redis/scripts';
import { DictionaryFixture, entry, foldedEntry, giantEntry, putArgs } from '../support/dictionary-fixture';
import { allListed } from '../support/dictionary-questions';

const PROFILE = { accents: 'kept', typos: true } as const;

describe('dictionary-write', () => {
  let fixture: DictionaryFixture;
  beforeAll(async () => {
    fixture = await DictionaryFixture.open();
  });
  afterAll(() => fixture?.close());

  const run = (name: string, ...args: string[]) => fixture.run(dictionaryWrite, name, ...args);
  const idsOf = async (name: string) =>
    (await allListed(fixture.engine, { dictionary: name })).map(({ entryId }) => entryId);

  it('answers UNKNOWN, PROFILE or LOST without a matching dictionary or import', async () => {
    const name = fixture.name();
    const put = putArgs(foldedEntry('a', 'a'));
    expect(await run(name, 'kt1', '', ...put)).toEqual(['UNKNOWN']);
    await fixture.engine.createDictionary(name, PROFILE);
    expect(await run(name, 'd-1', '', ...put)).toEqual(['PROFILE', 'kt1']);
    expect(await run(name, 'kt1', 'no such import', ...put)).toEqual(['LOST']);
    expect(await run(name, 'kt1', '', ...put)).toEqual(['OK', '1', '1', ['1']]);
    expect(await run(name, '', '', 'select', 'a', '3', '', '', '', '')).toEqual(['OK', '1', '1', ['3']]);
    expect(await run(name, '', '', 'select', 'b', '3', '', '', '', '')).toEqual(['OK', '1', '1', ['-1']]);
    expect(await run(name, '', '', 'delete', 'a', '', '', '', '', '')).toEqual(['OK', '1', '1', ['1']]);
    expect(await run(name, '', '', 'delete', 'a', '', '', '', '', '')).toEqual(['OK', '1', '1', ['0']]);
  });

  it('changes a very large entry in several scripts, and hides the entry until the change is finished', async () => {
    const name = fixture.name();
    await fixture.engine.createDictionary(name, PROFILE);
    await fixture.engine.putEntries(name, [entry('first', 'first')]);
    expect((await run(name, 'kt1', '', ...putArgs(giantEntry('large')))).slice(0, 3)).toEqual([
      'OK',
      '1',
      '0',
    ]);
    expect(await idsOf(name)).toEqual(['first']);
    expect((await fixture.engine.getDictionary(name)).entryCount).toBe(1);
    expect(await fixture.check(name, { unfinished: true })).toEqual([]);
    // The next script finishes the large change before it makes its own change.
    await fixture.engine.putEntries(name, [entry('next', 'next')]);
    expect((await idsOf(name)).sort()).toEqual(['first', 'large', 'next']);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('hides a deleted large entry immediately, and removes its data in steps', async () => {
    const name = fixture.name();
    await fixture.engine.createDictionary(name, PROFILE);
    await run(name, 'kt1', '', ...putArgs(giantEntry('large')));
    expect(await fixture.checkAtRest(name)).toEqual([]);
    expect((await run(name, '', '', 'delete', 'large', '', '', '', '', '')).slice(0, 3)).toEqual([
      'OK',
      '1',
      '0',
    ]);
    expect(await idsOf(name)).toEqual([]);
    expect(await fixture.check(name, { unfinished: true })).toEqual([]);
    expect(await fixture.checkAtRest(name)).toEqual([]);
    expect((await fixture.engine.getDictionary(name)).entryCount).toBe(0);
  });

  it.each(['meta', 'entries', 'ids', 'state', 'parts'])('works after a manual DEL of %s', async (part) => {
    const name = fixture.name();
    await fixture.engine.createDictionary(name, PROFILE);
    await fixture.engine.putEntries(name, [entry('a', 'abc'), entry('b', 'abd')]);
    const key =
      part === 'meta' ? fixture.key(name) : fixture.partKey(name, part, await fixture.meta(name, 'live'));
    expect(await fixture.redis.command('DEL', key)).toBe('1');
    if (part === 'meta') await fixture.engine.createDictionary(name, PROFILE);
    await fixture.engine.putEntries(name, [entry('a', 'abx'), entry('c', 'abe')]);
    await fixture.engine.deleteEntries(name, ['b', 'c']);
    await fixture.engine.recordSelection(name, 'a', 1);
    const asked = {
      dictionary: name,
      query: 'abx',
      kinds: [],
      pageSize: 10,
      pageToken: '',
      recentsList: '',
    };
    expect((await fixture.engine.suggest(asked)).suggestions.map(({ text }) => text)).toEqual(['abx']);
  });
});
