import type { Profile } from '../../src/engine/autocomplete/suggestion';
import { HoldfastError } from '../../src/engine/errors';
import { DictionaryFixture, entry } from '../support/dictionary-fixture';
import { wholePage } from '../support/dictionary-questions';

const DROPPED: Profile = { accents: 'dropped', typos: true };
const LIST = { from: '', to: '', pageSize: 10, pageToken: '' };

let fixture: DictionaryFixture;
beforeAll(async () => {
  fixture = await DictionaryFixture.open();
});
afterAll(() => fixture?.close());

/** Makes a dictionary with one entry by another server, and sets its stored profile: accents, typos, fold version. */
async function dictionaryOf(storedProfile: string): Promise<string> {
  const name = fixture.name();
  await fixture.hurriedEngine.createDictionary(name, DROPPED);
  await fixture.hurriedEngine.putEntries(name, [entry('1', 'Élan')]);
  await fixture.redis.command('HSET', fixture.key(name), 'profile', storedProfile);
  return name;
}

async function refusalOf(call: () => Promise<unknown>): Promise<string> {
  const error = await call().then(
    () => undefined,
    (found: unknown) => found,
  );
  if (!(error instanceof HoldfastError)) throw new Error(`no error of the service: ${String(error)}`);
  return `${error.reason}: ${error.message}`;
}

/** Every call that folds texts, and the creation of the dictionary with the same profile. */
const foldingCalls = (name: string): (() => Promise<unknown>)[] => [
  () => wholePage(fixture.engine, { dictionary: name, query: 'e' }),
  () => fixture.engine.putEntries(name, [entry('2', 'Elan')]),
  () => fixture.engine.listEntries({ ...LIST, dictionary: name, from: 'a' }),
  () => fixture.engine.listEntries({ ...LIST, dictionary: name, to: 'a' }),
  () => fixture.engine.startImport(name, DROPPED),
  () => fixture.engine.startImport(name, undefined),
  () => fixture.engine.createDictionary(name, DROPPED),
];

describe('a dictionary with older folding rules', () => {
  it('answers DICTIONARY_OUTDATED to every call that folds texts', async () => {
    const name = await dictionaryOf('dt1');
    for (const call of foldingCalls(name)) {
      expect(await refusalOf(call)).toMatch(/^DICTIONARY_OUTDATED: .*version 1 .* needs version 2/);
    }
  });

  it('answers DICTIONARY_EXISTS to a request with another profile', async () => {
    const name = await dictionaryOf('dt1');
    const other: Profile = { accents: 'kept', typos: true };
    const calls = [
      () => fixture.engine.createDictionary(name, other),
      () => fixture.engine.startImport(name, other),
    ];
    for (const call of calls) expect(await refusalOf(call)).toMatch(/^DICTIONARY_EXISTS/);
  });

  it('still shows its size, lists and deletes entries, counts selections, and can be made anew', async () => {
    const name = await dictionaryOf('dt1');
    const { engine } = fixture;
    expect(await engine.getDictionary(name)).toMatchObject({ foldVersion: 1, entryCount: 1 });
    expect(await engine.recordSelection(name, '1', 3)).toBe(3);
    const { entries } = await engine.listEntries({ ...LIST, dictionary: name });
    expect(entries).toMatchObject([{ text: 'Élan', selectionCount: 3 }]);
    expect(await engine.deleteEntries(name, ['1'])).toBe(1);
    expect(await engine.deleteDictionary(name)).toBe(true);
    await engine.createDictionary(name, DROPPED);
    await engine.putEntries(name, [entry('1', 'עִבְרִית')]);
    const { suggestions } = await wholePage(engine, { dictionary: name, query: 'עברית' });
    expect(suggestions).toMatchObject([{ entryId: '1', kind: 'exact' }]);
  });
});

it('a dictionary with newer folding rules answers NOT_IMPLEMENTED to every call that folds texts', async () => {
  const name = await dictionaryOf('dt3');
  for (const call of foldingCalls(name)) {
    expect(await refusalOf(call)).toMatch(/^NOT_IMPLEMENTED: .*version 3 .* use a newer server/);
  }
});

it('a dictionary that keeps accents has the first version of the folding rules', async () => {
  const name = fixture.name();
  await fixture.engine.createDictionary(name, { accents: 'kept', typos: false });
  expect(await fixture.meta(name, 'profile')).toBe('k-1');
});
