import type { Profile } from '../../src/autocomplete/suggestion';
import { HoldfastError } from '../../src/base/errors';
import {
  ANYBODY,
  DictionaryFixture,
  entry,
  NOW,
  pageOf,
  storedOf,
} from '../support/autocomplete/dictionary-fixture';

const PROFILE: Profile = { accents: 'dropped', typos: true };
const EVERYTHING = { from: '', to: '', pageSize: 10, pageToken: '', asked: NOW };

let fixture: DictionaryFixture;
beforeAll(async () => {
  fixture = await DictionaryFixture.open();
});
afterAll(() => fixture?.close());

async function refusalOf(call: () => Promise<unknown>): Promise<string> {
  const error = await call().then(
    () => undefined,
    (found: unknown) => found,
  );
  if (!(error instanceof HoldfastError)) throw new Error(`no error of the service: ${String(error)}`);
  return `${error.reason}: ${error.message}`;
}

/** Every call that reads or changes a dictionary, except its deletion. */
const calls = (name: string): (() => Promise<unknown>)[] => [
  () => pageOf(fixture.engine, { dictionary: name, query: 'e' }),
  () => fixture.engine.listEntries({ ...EVERYTHING, dictionary: name }),
  () => fixture.engine.putEntries(name, storedOf(entry('1', 'Elan'))),
  () => fixture.engine.deleteEntries(name, ['1']),
  () => fixture.engine.recordSelection(name, '1', 1),
  () => fixture.engine.startImport(name, undefined),
  () => fixture.engine.startImport(name, PROFILE),
  () => fixture.engine.createDictionary(name, PROFILE),
  () => fixture.engine.getDictionary(name),
];

it('a dictionary in a newer format answers NOT_IMPLEMENTED to every call, also if its index was loaded', async () => {
  const name = fixture.name();
  await fixture.engine.createDictionary(name, PROFILE);
  await fixture.engine.putEntries(name, storedOf(entry('1', 'Élan')));
  await pageOf(fixture.engine, { dictionary: name, query: 'e' });
  await fixture.redis.command('HSET', fixture.key(name), 'format', 3);
  for (const call of [...calls(name), () => fixture.engine.deleteDictionary(name)]) {
    expect(await refusalOf(call)).toMatch(/^NOT_IMPLEMENTED: .*format 3; use a newer server/);
  }
});

it('a dictionary whose state Redis has lost is not listed, and does not hide other dictionaries', async () => {
  const names = [fixture.name(), fixture.name()];
  for (const name of names) await fixture.engine.createDictionary(name, PROFILE);
  const [lost, other] = names as [string, string];
  const live = String(await fixture.redis.command('HGET', fixture.key(lost), 'live'));
  await fixture.redis.command('DEL', fixture.key(lost).replace(/meta:.*$/s, `state:${live}`));
  const page = await fixture.engine.listDictionaries('', 100, '', ANYBODY);
  const listed = page.dictionaries.map(({ name }) => name);
  expect(listed).toContain(other);
  expect(listed).not.toContain(lost);
});
