import type { Autocomplete } from '../../src/autocomplete/autocomplete';
import { DEFAULT_PROFILE, type StoredEntry } from '../../src/autocomplete/suggestion';
import type { Writer } from '../../src/autocomplete/quota/amount';
import { ownedNamesKey } from '../../src/autocomplete/redis/entry-keys';
import { DictionaryFixture, entry, storedOf } from '../support/autocomplete/dictionary-fixture';
import { PREFIX } from '../support/autocomplete/entries-fixture';
import { eventually } from '../support/eventually';

const LIMIT = 150;

describe('the quota of entries, over Redis and two servers,', () => {
  let fixture: DictionaryFixture;
  beforeAll(async () => {
    fixture = await DictionaryFixture.open();
  });
  afterAll(() => fixture?.close());

  const entries = (count: number, from = 0): StoredEntry[] =>
    storedOf(...Array.from({ length: count }, (_, i) => entry(`id ${from + i}`, `text ${from + i}`)));
  let identities = 0;
  /** An identity that no other test uses. */
  const writer = (quotas: Writer['quotas'] = { entries: LIMIT }): Writer => {
    identities += 1;
    return { identity: `token:writer-${identities}`, quotas };
  };
  const created = async (by: Writer, on: Autocomplete = fixture.engine) => {
    const name = fixture.name();
    await on.createDictionary(name, DEFAULT_PROFILE, by);
    return name;
  };
  const importAll = async (name: string, count: number, by: Writer, on: Autocomplete = fixture.engine) => {
    const session = await on.startImport(name, undefined, by);
    try {
      for (let from = 0; from < count; from += 100)
        await session.put(entries(Math.min(100, count - from), from));
    } catch (error) {
      await session.abandon();
      throw error;
    }
    return session.commit(count);
  };
  const countOf = async (name: string) => (await fixture.engine.getDictionary(name)).entryCount;
  const EXCEEDED = {
    reason: 'QUOTA_EXCEEDED',
    details: { metadata: { quota: 'entries', limit: String(LIMIT) } },
  };

  it('counts the dictionaries that the identity has created on both servers', async () => {
    const by = writer();
    const [one, other] = [await created(by), await created(by, fixture.otherEngine)];
    await fixture.engine.putEntries(one, entries(100), by);
    await fixture.otherEngine.putEntries(other, entries(50), by);
    await expect(fixture.engine.putEntries(one, entries(51, 100), by)).rejects.toMatchObject(EXCEEDED);
    // The other server notices the 100 entries after at most 5 s. Until then it lets puts pass.
    const refusal = await eventually('a refusal by the other server', () =>
      fixture.otherEngine.putEntries(other, entries(1), by).then(
        () => undefined,
        (error: unknown) => error,
      ),
    );
    expect(refusal).toMatchObject(EXCEEDED);
    expect([await countOf(one), await countOf(other)]).toEqual([100, 50]);
  });

  it('is free at once after deletions of entries and of dictionaries on the other server', async () => {
    const by = writer();
    const [one, other] = [await created(by), await created(by)];
    await fixture.engine.putEntries(one, entries(100), by);
    await fixture.engine.putEntries(other, entries(50), by);
    await fixture.otherEngine.deleteEntries(other, ['id 1', 'id 2']);
    await fixture.engine.putEntries(one, entries(2, 100), by);
    await expect(fixture.engine.putEntries(one, entries(1, 102), by)).rejects.toMatchObject(EXCEEDED);
    await fixture.otherEngine.deleteDictionary(other);
    await fixture.engine.putEntries(one, entries(48, 102), by);
    expect(await countOf(one)).toBe(150);
  });

  it('lets an import replace a dictionary that fills the quota, and abandons an import that exceeds it', async () => {
    const by = writer();
    const name = fixture.name();
    for (const on of [fixture.engine, fixture.otherEngine]) await importAll(name, LIMIT, by, on);
    await expect(importAll(name, LIMIT + 1, by)).rejects.toMatchObject(EXCEEDED);
    const view = await fixture.engine.getDictionary(name);
    expect(view).toMatchObject({ entryCount: LIMIT, imports: [] });
    const second = await created(by);
    await expect(fixture.engine.putEntries(second, entries(1), by)).rejects.toMatchObject(EXCEEDED);
  });

  it('abandons an import at its commit if another server has committed an import that fills the quota', async () => {
    const by = writer();
    const [one, other] = [fixture.name(), fixture.name()];
    const session = await fixture.engine.startImport(one, undefined, by);
    await session.put(entries(LIMIT));
    const startedAt = performance.now();
    await importAll(other, LIMIT, by, fixture.otherEngine);
    // The commit reads the other dictionaries again if the last read is older than 100 ms.
    await eventually('the end of these 100 ms', () => performance.now() > startedAt + 100);
    await expect(session.commit(LIMIT)).rejects.toMatchObject(EXCEEDED);
    await expect(fixture.engine.getDictionary(one)).rejects.toMatchObject({ reason: 'NO_SUCH_DICTIONARY' });
  });

  it('counts a dictionary without an owner for nobody', async () => {
    const by = writer();
    const old = fixture.name();
    await fixture.engine.createDictionary(old, DEFAULT_PROFILE);
    await fixture.engine.putEntries(old, entries(LIMIT));
    const name = await created(by);
    await fixture.engine.putEntries(name, entries(LIMIT), by);
    await expect(fixture.engine.putEntries(old, entries(1), by)).rejects.toMatchObject(EXCEEDED);
  });

  it('keeps the existing dictionaries in the list of an owner, and removes the dictionaries that are gone', async () => {
    const by = writer();
    const [kept, gone] = [await created(by), await created(by)];
    const listed = async () =>
      (await fixture.redis.command('ZRANGE', ownedNamesKey(PREFIX, by.identity), 0, -1)) as string[];
    expect(await listed()).toEqual([kept, gone].sort());
    await fixture.engine.deleteDictionary(gone);
    await eventually('the end of the list', async () => (await fixture.store.usage(gone)).kind === 'gone');
    await fixture.engine.putEntries(kept, entries(LIMIT), by);
    await expect(fixture.engine.putEntries(kept, entries(1, LIMIT), by)).rejects.toMatchObject(EXCEEDED);
    expect(await listed()).toEqual([kept]);
    expect(fixture.defects).toEqual([]);
  });

  it('counts the bytes of ids and records', async () => {
    const [one] = storedOf(entry('id', 'text'));
    const bytes = 2 + (one as StoredEntry).record.length;
    const by = writer({ bytes });
    const name = await created(by);
    await fixture.engine.putEntries(name, [one as StoredEntry], by);
    await expect(fixture.engine.putEntries(name, storedOf(entry('x', '')), by)).rejects.toMatchObject({
      reason: 'QUOTA_EXCEEDED',
      details: { metadata: { quota: 'bytes', limit: String(bytes) } },
    });
  });
});
