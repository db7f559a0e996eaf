import { LoadState, MatchKind } from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { ServerPair } from '../../end-to-end/server-pair';
import { type AutocompleteClient, wholeEntry } from '../../support/clients/autocomplete-client';
import { refusal } from '../../support/clients/calls';
import { eventuallyPasses } from '../../support/eventually';

let pair: ServerPair;
let client: AutocompleteClient;
let elsewhere: AutocompleteClient;

beforeAll(async () => {
  pair = await ServerPair.start();
  client = pair.first.autocomplete();
  elsewhere = pair.second.autocomplete();
});

afterAll(() => pair?.close());

/** Creates a dictionary with these texts. The id of an entry is its text. */
async function dictionary(name: string, ...texts: string[]): Promise<string> {
  await client.create(name);
  for (let from = 0; from < texts.length; from += 1000) {
    const some = texts.slice(from, from + 1000);
    await client.put(name, ...some.map((text) => ({ entryId: text, text })));
  }
  return name;
}

describe('two servers with indexes of the same dictionary', () => {
  test.concurrent('see each write of the other server as soon as the write is answered', async () => {
    const name = await dictionary('written at both');
    const servers = [client, elsewhere];
    const texts = () => Promise.all(servers.map((from) => from.texts({ dictionary: name, query: 'a' })));
    expect(await texts()).toEqual([[], []]);
    for (let round = 0; round < 20; round += 1) {
      await Promise.all(
        servers.map((from, at) => from.put(name, { entryId: `${at}`, text: `a${round} ${at}` })),
      );
      const both = [`a${round} 0`, `a${round} 1`];
      expect(await texts()).toEqual([both, both]);
      // Each server deletes the entry of the other server.
      const deleted = await Promise.all(servers.map((from, at) => from.delete(name, `${1 - at}`)));
      expect(deleted).toEqual([1, 1]);
      expect(await texts()).toEqual([[], []]);
    }
  });

  test.concurrent('count the selections of both servers, and rank by the sum', async () => {
    const name = await dictionary('selected at both', 'aa', 'ab', 'ac');
    const servers = [client, elsewhere];
    const ranked = () => Promise.all(servers.map((from) => from.texts({ dictionary: name, query: 'a' })));
    expect(await ranked()).toEqual([
      ['aa', 'ab', 'ac'],
      ['aa', 'ab', 'ac'],
    ]);
    const counts = await Promise.all(servers.map((from) => from.select(name, 'ac', 2)));
    expect(counts.sort()).toEqual([2n, 4n]);
    await elsewhere.select(name, 'ab', 3);
    const expected = ['ac', 'ab', 'aa'];
    expect(await ranked()).toEqual([expected, expected]);
    // A new put keeps the selections.
    await client.put(name, { entryId: 'ac', text: 'a', weight: 1n });
    const { suggestions } = await elsewhere.suggest({ dictionary: name, query: 'a' });
    expect(suggestions[0]).toMatchObject({ text: 'a', score: 5n });
  });

  test.concurrent('see all entries of one put, or none of them', async () => {
    const name = await dictionary('put at one stroke', 'x');
    expect(await elsewhere.texts({ dictionary: name, query: 'a' })).toEqual([]);
    const texts = Array.from({ length: 1000 }, (_, index) => `a${index}`);
    const putting = { isOver: false };
    const put = client
      .put(name, ...texts.map((text) => ({ entryId: text, text, payload: Buffer.alloc(1000) })))
      .finally(() => (putting.isOver = true));
    while (!putting.isOver) {
      const { entries } = await elsewhere.list({ dictionary: name, startText: 'a', pageSize: 500 });
      expect([1, 500]).toContain(entries.length);
    }
    await put;
    expect((await elsewhere.list({ dictionary: name, startText: 'a', pageSize: 500 })).entries).toHaveLength(
      500,
    );
  });

  test.concurrent('answer from a dictionary that was deleted and created again', async () => {
    const name = await dictionary('made twice', 'old');
    expect(await elsewhere.texts({ dictionary: name, query: '' })).toEqual(['old']);
    await client.call(client.stub.deleteDictionary, { dictionary: name });
    for (const from of [client, elsewhere]) {
      expect((await refusal(from.texts({ dictionary: name, query: '' }))).reason).toBe('NO_SUCH_DICTIONARY');
    }
    await dictionary(name, 'new');
    for (const from of [elsewhere, client]) {
      expect(await from.texts({ dictionary: name, query: '' })).toEqual(['new']);
    }
  });

  test.concurrent(
    'answer from an imported generation: the importing server immediately, and the other server a little later',
    async () => {
      const name = await dictionary('imported at one', 'old');
      expect(await elsewhere.texts({ dictionary: name, query: '' })).toEqual(['old']);
      const running = client.startImport(name);
      await running.send(['new 1', 'new 2'].map((text) => wholeEntry({ entryId: text, text })));
      expect(await running.commit()).toMatchObject({ code: 'OK' });
      expect(await client.texts({ dictionary: name, query: '' })).toEqual(['new 1', 'new 2']);
      await client.put(name, { entryId: 'later', text: 'later' });
      // The other server may answer from the old generation for a minute, with all later writes.
      expect(await elsewhere.texts({ dictionary: name, query: 'later' })).toEqual(['later']);
      await eventuallyPasses('the new generation elsewhere', async () => {
        expect(await elsewhere.texts({ dictionary: name, query: '' })).toEqual(['later', 'new 1', 'new 2']);
      });
    },
  );
});

describe('max_staleness', () => {
  const HOUR = { seconds: 3600n, nanos: 0 };

  test.concurrent('lets a server answer without the latest writes, until a query without it', async () => {
    const name = await dictionary('stale', 'aa');
    const asked = { dictionary: name, query: 'a' };
    const stale = { ...asked, maxStaleness: HOUR };
    // Without an index there is no older answer.
    expect(await elsewhere.texts(stale)).toEqual(['aa']);
    await client.put(name, { entryId: 'ab', text: 'ab' });
    expect(await elsewhere.texts(stale)).toEqual(['aa']);
    expect(await elsewhere.texts(asked)).toEqual(['aa', 'ab']);
    expect(await elsewhere.texts(stale)).toEqual(['aa', 'ab']);
  });

  test.concurrent('also holds for the existence of the dictionary', async () => {
    const name = await dictionary('stale and deleted', 'aa');
    const stale = { dictionary: name, query: 'a', maxStaleness: HOUR };
    expect(await elsewhere.texts(stale)).toEqual(['aa']);
    await client.call(client.stub.deleteDictionary, { dictionary: name });
    expect(await elsewhere.texts(stale)).toEqual(['aa']);
    const current = elsewhere.texts({ dictionary: name, query: 'a' });
    expect((await refusal(current)).reason).toBe('NO_SUCH_DICTIONARY');
    expect((await refusal(elsewhere.texts(stale))).reason).toBe('NO_SUCH_DICTIONARY');
  });

  test.concurrent('does not hold for recents, which are always current', async () => {
    const name = await dictionary('stale with recents', 'aa');
    const stale = { dictionary: name, query: 'a', recentsList: 'of stale', maxStaleness: HOUR };
    expect(await elsewhere.texts(stale)).toEqual(['aa']);
    await client.addRecent({ list: 'of stale', text: 'ab' });
    expect(await elsewhere.texts(stale)).toEqual(['ab', 'aa']);
  });
});

describe('GetDictionary', () => {
  test.concurrent(
    'answers with the load state and the memory of the asked server, and loads nothing',
    async () => {
      const name = await dictionary('states', 'aa', 'ab');
      const notLoaded = { loadState: LoadState.LOAD_STATE_NOT_LOADED, serverMemoryBytes: 0n, entryCount: 2n };
      for (const from of [client, elsewhere, client]) expect(await from.get(name)).toMatchObject(notLoaded);
      expect(await client.texts({ dictionary: name, query: 'a' })).toEqual(['aa', 'ab']);
      const loaded = await client.get(name);
      expect(loaded).toMatchObject({ loadState: LoadState.LOAD_STATE_READY, entryCount: 2n });
      expect(loaded?.serverMemoryBytes).toBeGreaterThan(0n);
      expect(await elsewhere.get(name)).toMatchObject(notLoaded);
      expect((await elsewhere.list({ dictionary: name })).entries).toHaveLength(2);
      expect((await elsewhere.get(name))?.loadState).toBe(LoadState.LOAD_STATE_READY);
    },
  );

  test.concurrent('counts the feed of the latest changes as a part of the memory in the store', async () => {
    const name = await dictionary('sizes', 'aa');
    const before = await client.get(name);
    expect(before?.feedBytes).toBeGreaterThan(0n);
    expect(before?.memoryBytes).toBeGreaterThan(before?.feedBytes ?? 0n);
    await client.put(name, { entryId: 'large', text: 'large', payload: Buffer.alloc(1000, 7) });
    const after = await elsewhere.get(name);
    expect(after?.feedBytes).toBeGreaterThan((before?.feedBytes ?? 0n) + 1000n);
    expect(after?.memoryBytes).toBeGreaterThan((before?.memoryBytes ?? 0n) + 2000n);
  });

  test.concurrent('agrees with ListDictionaries', async () => {
    const name = await dictionary('listed with its state', 'aa');
    await client.texts({ dictionary: name, query: 'a' });
    const asked = { namePrefix: name, pageSize: 0, pageToken: '' };
    const { dictionaries } = await client.call(client.stub.listDictionaries, asked);
    expect(dictionaries).toEqual([await client.get(name)]);
    expect(dictionaries[0]?.loadState).toBe(LoadState.LOAD_STATE_READY);
  });
});

describe('pages', () => {
  test.concurrent(
    'of ListEntries have equal texts in the order of their entry_id, by code points',
    async () => {
      const name = await dictionary('equal texts');
      // JavaScript orders U+10000 and above before U+E000 to U+FFFF, but code points do not.
      const ids = ['1', '10', '2', 'Z', 'a', 'aa', 'é', 'ж', '東', '\uf8ff', '\u{10000}', '😀', '\u{10ffff}'];
      const texts = ['Same text', 'same text', 'SAME TEXT'];
      const entries = ids.map((entryId, at) => ({ entryId, text: texts[at % 3] }));
      await client.put(name, ...entries.reverse().map(({ entryId, text = '' }) => ({ entryId, text })));
      await client.put(name, { entryId: 'first', text: 'same' }, { entryId: 'last', text: 'same text!' });
      for (const pageSize of [1, 2, 5, 500]) {
        const found: (string | undefined)[] = [];
        let pageToken = '';
        let from = client;
        do {
          const page = await from.list({ dictionary: name, pageSize, pageToken });
          found.push(...page.entries.map(({ entry }) => entry?.entryId));
          ({ nextPageToken: pageToken } = page);
          from = from === client ? elsewhere : client;
        } while (pageToken !== '');
        expect(found).toEqual(['first', ...ids, 'last']);
      }
    },
  );

  test.concurrent(
    'of a one-letter query have every match once, to the end, on both servers in turn',
    async () => {
      const texts = Array.from(
        { length: 3000 },
        (_, at) => [`a ${at}`, `${at} a`, `x${at}ab`, `${at} ab`, `b ${at}`][at % 5]!,
      );
      const name = await dictionary('to the end', ...texts);
      const kinds: MatchKind[] = [];
      const found: string[] = [];
      let pageToken = '';
      let from = client;
      do {
        // The client refuses partial answers.
        const page = await from.suggest({ dictionary: name, query: 'a', pageSize: 100, pageToken });
        found.push(...page.suggestions.map(({ text }) => text));
        kinds.push(...page.suggestions.map(({ matchKind }) => matchKind));
        if (page.nextPageToken !== '') expect(page.suggestions).toHaveLength(100);
        ({ nextPageToken: pageToken } = page);
        from = from === client ? elsewhere : client;
      } while (pageToken !== '');
      expect(found).toHaveLength(new Set(found).size);
      expect(found.sort()).toEqual(texts.filter((text) => text.includes('a')).sort());
      expect(kinds).toEqual([...kinds].sort((a, b) => a - b));
      expect(new Set(kinds)).toEqual(
        new Set([
          MatchKind.MATCH_KIND_PREFIX,
          MatchKind.MATCH_KIND_WORD_PREFIX,
          MatchKind.MATCH_KIND_CONTAINS,
        ]),
      );
    },
  );

  test.concurrent('have no gap and no repeat when other entries are put and deleted in between', async () => {
    const texts = Array.from({ length: 200 }, (_, at) => `a${String(at).padStart(3, '0')}`);
    const name = await dictionary('changed in between', ...texts);
    const found: string[] = [];
    let pageToken = '';
    for (let count = 0; count === 0 || pageToken !== ''; count += 1) {
      const page = await client.suggest({ dictionary: name, query: 'a', pageSize: 7, pageToken });
      found.push(...page.suggestions.map(({ text }) => text));
      ({ nextPageToken: pageToken } = page);
      // The new entry comes before the next page, and the deleted entry was on an earlier page.
      await elsewhere.put(name, { entryId: `new ${count}`, text: `a!${count}` });
      await elsewhere.delete(name, found[count] ?? '-');
    }
    expect(found).toEqual(texts);
  });
});
