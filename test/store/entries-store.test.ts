import {
  EntriesFixture,
  PROFILE,
  stored,
  storedMany,
  type Content,
} from '../support/autocomplete/entries-fixture';

const contentOf = (entries: ReturnType<typeof storedMany>): Content =>
  Object.fromEntries(
    entries
      .map(({ entryId, record }) => [entryId, [String(record), 0]] as [string, [string, number]])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );

describe('the store of entries', () => {
  let fixture: EntriesFixture;
  beforeAll(async () => {
    fixture = await EntriesFixture.open();
  });
  afterAll(() => fixture?.close());

  it('loads what was put, deleted and selected', async () => {
    const { store } = fixture;
    const name = await fixture.dictionary([stored('a', 'first'), stored('b')]);
    expect(await store.put(name, [stored('a', 'second'), stored('c')])).toEqual({ kind: 'ok' });
    expect(await store.select(name, 'a', 3)).toEqual({ kind: 'ok', count: 3 });
    expect(await store.select(name, 'a', 2)).toEqual({ kind: 'ok', count: 5 });
    expect(await store.select(name, 'none', 2)).toEqual({ kind: 'ok', count: undefined });
    expect(await store.delete(name, ['b', 'none', 'b'])).toEqual({ kind: 'ok', deleted: 1 });
    expect(await fixture.content(name)).toEqual({ a: ['second', 5], c: ['record of c', 0] });
    expect(await store.inspect(name)).toMatchObject({
      kind: 'ok',
      profile: PROFILE,
      generation: 1,
      entryCount: 2,
      imports: [],
    });
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('keeps no chunk of a large put to a dictionary that does not exist', async () => {
    const name = fixture.name();
    expect(await fixture.store.put(name, storedMany(1000))).toEqual({ kind: 'unknown' });
    expect(await fixture.checker.check(name)).toEqual([]);
    expect(await fixture.redis.command('KEYS', fixture.partKey(name, '*'))).toEqual([]);
  });

  it('puts 1,000 entries as one version, and splits buckets', async () => {
    const { store } = fixture;
    const entries = storedMany(1000);
    const name = await fixture.dictionary();
    const before = await fixture.head(name);
    await store.put(name, entries);
    expect((await fixture.head(name)).version).toBe(before.version + 1);
    const read = await store.writesAfter(name, before);
    expect(read).toMatchObject({ kind: 'writes', writes: [{ before: before.tail }] });
    expect(read.kind === 'writes' && read.writes[0]?.changes).toHaveLength(1000);
    expect(await store.startLoad(name)).toMatchObject({ entryCount: 1000, bucketCount: 20 });
    expect(await fixture.content(name)).toEqual(contentOf(entries));
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('imports a new generation that keeps the selections and the writes of the time of the import', async () => {
    const { store, other } = fixture;
    const name = await fixture.dictionary(storedMany(300, 0, 'old'));
    await store.select(name, 'id 5', 7);
    expect(await store.startImport(name, 'import', undefined, PROFILE)).toEqual({ kind: 'ok' });
    await other.put(name, [stored('id 1', 'written'), stored('id 250', 'written')]);
    await store.putImported(name, 'import', storedMany(200, 0, 'new'));
    await other.delete(name, ['id 2']);
    await other.select(name, 'id 3', 1);
    await store.putImported(name, 'import', [stored('id 2', 'again'), stored('id 400', 'new')]);
    await other.put(name, storedMany(300, 500, 'large'));
    expect(await store.commitImport(name, 'import')).toEqual({ kind: 'ok' });
    expect(await store.commitImport(name, 'import')).toEqual({ kind: 'ok' });
    const expected = {
      ...contentOf([...storedMany(200, 0, 'new'), ...storedMany(300, 500, 'large'), stored('id 400', 'new')]),
      'id 1': ['written', 0],
      'id 250': ['written', 0],
      'id 3': ['new 3', 1],
      'id 5': ['new 5', 7],
    } as Content;
    delete expected['id 2'];
    expect(await fixture.content(name)).toEqual(expected);
    expect(await store.inspect(name)).toMatchObject({ generation: 2, imports: [] });
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });
});
