import { RedisDictionaryStore } from '../../src/redis/autocomplete/dictionary-store';
import { dictionaryKey } from '../../src/redis/keys';
import { foldedEntry } from '../support/dictionary-fixture';
import { EntriesFixture, PREFIX, PROFILE, stored } from '../support/entries-fixture';

const FIRST_PROFILE = { ...PROFILE, foldVersion: 1 };

describe('a dictionary of the first layout', () => {
  let fixture: EntriesFixture;
  let first: RedisDictionaryStore;
  beforeAll(async () => {
    fixture = await EntriesFixture.open();
    first = new RedisDictionaryStore({ commands: fixture.commands, replica: undefined, prefix: PREFIX });
  });
  afterAll(() => fixture?.close());

  async function outdated(): Promise<string> {
    const name = fixture.name();
    await first.create(name, FIRST_PROFILE);
    const entries = Array.from({ length: 300 }, (_, i) => foldedEntry(`${i}`, `a text with words ${i}`));
    await first.put(name, FIRST_PROFILE, entries);
    await first.startImport(name, 'import', undefined, FIRST_PROFILE);
    await first.putImported(name, 'import', FIRST_PROFILE, entries.slice(0, 20));
    return name;
  }

  it('is outdated for every call, and stays unchanged', async () => {
    const { store } = fixture;
    const name = await outdated();
    const before = await first.inspect(name);
    const after = { generationId: 'g', version: 1, tail: 't' };
    for (const answer of [
      store.create(name, PROFILE),
      store.put(name, [stored('a')]),
      store.delete(name, ['a']),
      store.select(name, 'a', 1),
      store.head(name),
      store.writesAfter(name, after),
      store.startLoad(name),
      store.inspect(name),
      store.startImport(name, 'new', undefined, PROFILE),
    ]) {
      expect(await answer).toEqual({ kind: 'outdated' });
    }
    expect(await store.sweep(name)).toBe('clean');
    expect(await first.inspect(name)).toEqual(before);
    await store.drop(name);
  });

  it('is deleted with all its keys, and can then be created', async () => {
    const name = await outdated();
    const keys = () =>
      fixture.redis.command('KEYS', `${dictionaryKey(PREFIX, name).split(':d:')[0] ?? ''}:d:*`);
    expect(await keys()).not.toEqual([]);
    expect(await fixture.store.drop(name)).toBe(true);
    expect(await keys()).toEqual([]);
    expect(await fixture.store.drop(name)).toBe(false);
    expect(await fixture.store.create(name, PROFILE)).toEqual({ kind: 'ok' });
  });

  it('is deleted to its end by the sweeps of another server', async () => {
    const name = await outdated();
    await first.drop(name);
    expect(await fixture.store.head(name)).toEqual({ kind: 'unknown' });
    let steps = 0;
    while ((await fixture.other.sweep(name)) === 'more') steps += 1;
    expect(steps).toBeGreaterThan(1);
    expect(await fixture.store.sweep(name)).toBe('gone');
    expect(await fixture.redis.command('KEYS', `*${name}*`)).toEqual([]);
  });
});
