import type { Autocomplete } from '../../../src/autocomplete/autocomplete';
import type { Writer } from '../../../src/autocomplete/quota/amount';
import {
  DEFAULT_PROFILE,
  type Entry,
  type MatchKind,
  type Profile,
  type StoredEntry,
} from '../../../src/autocomplete/suggestion';
import { HoldfastError } from '../../../src/base/errors';
import { ownedNamesKey } from '../../../src/autocomplete/redis/entry-keys';
import {
  allListed,
  allPages,
  ANYBODY,
  DictionaryFixture,
  entry,
  NOW,
  pageOf,
  storedOf,
} from '../../support/autocomplete/dictionary-fixture';
import { compare } from '../../support/autocomplete/dictionary-model';
import { seeded } from '../../support/autocomplete/dictionary-texts';
import { PREFIX } from '../../support/autocomplete/entries-fixture';
import { eventually } from '../../support/eventually';

let fixture: DictionaryFixture;
beforeAll(async () => {
  fixture = await DictionaryFixture.open();
});
afterAll(() => fixture.close());

// dictionary-properties.slow.test.ts runs more histories.
describe('a dictionary with many ties', () => {
  /** The number of entries with the same score and a long common beginning. */
  const COUNT = 1500;
  const SEED = 20_261_122;
  const PROFILE = { accents: 'kept', typos: true } as const;

  const textsOf = (found: readonly { readonly text: string }[]) => found.map(({ text }) => text);

  async function imported(entries: readonly Entry[]): Promise<string> {
    const name = fixture.name();
    const session = await fixture.engine.startImport(name, PROFILE);
    for (let i = 0; i < entries.length; i += 1000) await session.put(storedOf(...entries.slice(i, i + 1000)));
    await session.commit(entries.length);
    return name;
  }

  function shuffled<T>(items: readonly T[]): T[] {
    const random = seeded(SEED);
    return items
      .map((item) => ({ item, at: random(1_000_000) }))
      .sort((a, b) => a.at - b.at)
      .map(({ item }) => item);
  }

  describe(`a dictionary of ${COUNT} addresses with equal weights (seed ${SEED})`, () => {
    const texts = Array.from({ length: COUNT }, (_, i) => `https://www.example.com/articles/page-${i + 1}`);
    const inOrder = [...texts].sort(compare);
    let name: string;
    beforeAll(async () => {
      name = await imported(shuffled(texts).map((text) => entry(text, text)));
    });

    it.each([
      ['h', 'prefix'],
      ['http', 'prefix'],
      ['https://www.example.com', 'prefix'],
      ['page', 'contains'],
      ['page', 'word-prefix'],
      ['example', 'contains'],
      ['e', 'contains'],
      ['-4', 'contains'],
      ['7', 'suffix'],
      ['http', 'contains'],
    ] as const)('shows each match of %s (%s) once, in the order of texts', async (query, kind) => {
      const matching = inOrder.filter((text) =>
        kind === 'suffix' ? text.endsWith(query) : text.includes(query),
      );
      for (const pageSize of [100, 17]) {
        const kinds: MatchKind[] = [kind];
        const found = await allPages((page) => fixture.servers[page % 2]!.engine, {
          dictionary: name,
          query,
          kinds,
          pageSize,
        });
        expect(textsOf(found)).toEqual(matching);
        expect(new Set(found.map((one) => one.kind))).toEqual(new Set(kinds));
      }
    });

    it.each(['h', 'http', 'https://www.example.com', 'page', 'example'])(
      'has the first texts in order on the first page of %s, for every page size',
      async (query) => {
        for (const pageSize of [1, 10, 100]) {
          const { suggestions } = await pageOf(fixture.engine, { dictionary: name, query, pageSize });
          expect(textsOf(suggestions)).toEqual(inOrder.slice(0, pageSize));
        }
      },
    );
  });

  it('entries with equal texts and scores are in the order of their ids, among suggestions and in lists', async () => {
    const ids = Array.from({ length: 300 }, (_, i) => `id ${i}`);
    const name = await imported(shuffled(ids).map((id) => entry(id, 'John Smith')));
    const engine = () => fixture.engine;
    const asked = { dictionary: name, pageSize: 7 };
    const found = await allPages(engine, { ...asked, query: 'smith' });
    expect(found.map(({ entryId }) => entryId)).toEqual([...ids].sort(compare));
    const listed = await allListed(engine, asked);
    expect(listed.map(({ entryId }) => entryId)).toEqual([...ids].sort(compare));
  });

  describe('a typo', () => {
    it.each([
      ['in an alias with two wrong characters', 'zz', ['axcdXfghijkl'], 'aqcrXfghijkl'],
      ['at the end of the compared beginning', 'abxdfeghijk', [], 'abcdefgh'],
    ])('is found %s', async (_what, text, aliases, query) => {
      const name = await imported([entry('meant', text, { aliases }), entry('other', 'something else')]);
      const found = await allPages(() => fixture.engine, { dictionary: name, query });
      expect(found.map(({ kind, entryId }) => [kind, entryId])).toEqual([['typo', 'meant']]);
    });

    it('is found by an alias among 300 entries with the same beginning', async () => {
      const many = Array.from({ length: 300 }, (_, i) => entry(`${i}`, `christ${i}z`, { weight: 100 }));
      const meant = entry('meant', 'chris brown', { aliases: ['christopher'], weight: 1000 });
      const name = await imported([...many, meant]);
      for (const query of ['chrxst', 'chrst', 'chirst', 'chrisst']) {
        const { suggestions } = await pageOf(fixture.engine, { dictionary: name, query });
        expect(suggestions[0]).toMatchObject({ kind: 'typo', entryId: 'meant' });
      }
    });

    it('is ordered by its text among entries with the same score and the same beginning', async () => {
      const texts = Array.from({ length: 90 }, (_, i) => `reiplais brand${(i * 37) % 90}`);
      const name = await imported(texts.map((text) => entry(text, text, { weight: 2 })));
      for (const pageSize of [1, 10, 100]) {
        const asked = { dictionary: name, query: 'reilasi br', pageSize };
        const { suggestions } = await pageOf(fixture.engine, asked);
        expect(textsOf(suggestions)).toEqual([...texts].sort(compare).slice(0, pageSize));
      }
    });
  });
});

describe('a dictionary that this server cannot read', () => {
  // Its sweeper reports the broken dictionaries as defects.
  let fixture: DictionaryFixture;
  beforeAll(async () => {
    fixture = await DictionaryFixture.open();
  });
  afterAll(() => fixture?.close());

  const PROFILE: Profile = { accents: 'dropped', typos: true };
  const EVERYTHING = { from: '', to: '', pageSize: 10, pageToken: '', asked: NOW };

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
});

const LIMIT = 150;

describe('the quota of entries, over Redis and two servers,', () => {
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
