import * as proto from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { packEntry, unpackRecord } from '../../../src/autocomplete/record';
import {
  type AskedView,
  type Entry,
  type ListedEntry,
  type LoadState,
  MATCH_KINDS,
  type MatchKind,
  type Profile,
  type StoredEntry,
  type Suggestion,
} from '../../../src/autocomplete/suggestion';
import {
  autocompleteCalls,
  type AutocompleteCalls,
  batch,
  commit,
  entry,
  ImportCall,
  start,
  suggestRequest,
} from '../../contract/autocomplete-calls';
import { newYork, towns } from '../../contract/fake-engines';
import { call, Harness } from '../../contract/harness';

let harness: Harness;
let calls: AutocompleteCalls;
beforeAll(async () => {
  harness = await Harness.start();
  calls = autocompleteCalls(harness);
});
beforeEach(() => harness.autocomplete.reset());
afterAll(() => harness.close());

describe('autocomplete translation', () => {
  const engineCalls = () => harness.autocomplete.calls;
  /** How a call of the engine wants the entries. */
  const askedView = (index: number) => (engineCalls()[index]?.[1] as { asked: AskedView }).asked;

  const newYorkMessage: proto.Suggestion = {
    entryId: 'nyc',
    text: 'New York',
    segments: [
      { text: 'New ', matched: false },
      { text: 'Yo', matched: true },
      { text: 'rk', matched: false },
    ],
    payload: Buffer.from([1, 2, 255]),
    matchKind: proto.MatchKind.MATCH_KIND_WORD_PREFIX,
    score: 2n ** 53n - 1n,
    recent: false,
  };

  describe('AddRecent', () => {
    test('passes the recent and the capacity to the engine', async () => {
      const payload = Buffer.from([0, 1]);
      expect(await calls.addRecent({ entryId: 'nyc', payload, capacity: 7 })).toEqual({});
      expect(engineCalls()).toEqual([
        ['addRecent', 'alice', { text: 'New York', entryId: 'nyc', payload }, 7],
      ]);
    });

    test('passes the capacity 100 to the engine if the request has none', async () => {
      await calls.addRecent();
      expect(engineCalls()[0]?.[3]).toBe(100);
    });
  });

  describe('RemoveRecent', () => {
    test.each([true, false])("sends the engine's answer: removed is %s", async (removed) => {
      harness.autocomplete.answers.removeRecent = () => Promise.resolve(removed);
      expect(await calls.removeRecent({ entryId: 'nyc', text: '' })).toEqual({ removed });
      expect(engineCalls()).toEqual([['removeRecent', 'alice', { entryId: 'nyc', text: '' }]]);
    });
  });

  test.each([true, false])("DeleteRecents sends the engine's answer: deleted is %s", async (deleted) => {
    harness.autocomplete.answers.deleteRecents = () => Promise.resolve(deleted);
    expect(await calls.deleteRecents()).toEqual({ deleted });
    expect(engineCalls()).toEqual([['deleteRecents', 'alice']]);
  });

  test('SuggestRecents asks the engine for 10 suggestions of all kinds by default', async () => {
    harness.autocomplete.answers.suggestRecents = () =>
      Promise.resolve([newYork, { ...newYork, recent: true }]);
    const { suggestions } = await calls.suggestRecents();
    expect(suggestions).toEqual([newYorkMessage, { ...newYorkMessage, recent: true }]);
    expect(engineCalls()).toEqual([['suggestRecents', 'alice', { query: 'yo', pageSize: 10, kinds: [] }]]);
  });

  describe('RecordSelection', () => {
    test('records 1 selection by default', async () => {
      expect(await calls.recordSelection()).toEqual({ recorded: true, selectionCount: 5n });
      await calls.recordSelection({ count: 1_000_000 });
      expect(engineCalls()).toEqual([
        ['recordSelection', 'towns', 'nyc', 1],
        ['recordSelection', 'towns', 'nyc', 1_000_000],
      ]);
    });

    test('answers with recorded false for an unknown entry', async () => {
      harness.autocomplete.answers.recordSelection = () => Promise.resolve(undefined);
      expect(await calls.recordSelection()).toEqual({ recorded: false, selectionCount: 0n });
    });
  });

  const KIND_VALUES: readonly [MatchKind, proto.MatchKind][] = [
    ['exact', proto.MatchKind.MATCH_KIND_EXACT],
    ['prefix', proto.MatchKind.MATCH_KIND_PREFIX],
    ['word-prefix', proto.MatchKind.MATCH_KIND_WORD_PREFIX],
    ['suffix', proto.MatchKind.MATCH_KIND_SUFFIX],
    ['contains', proto.MatchKind.MATCH_KIND_CONTAINS],
    ['typo', proto.MatchKind.MATCH_KIND_TYPO],
  ];

  describe('Suggest', () => {
    test('asks the engine for 10 suggestions of all kinds by default', async () => {
      expect(await calls.suggest()).toEqual({
        suggestions: [newYorkMessage],
        nextPageToken: 'next',
        partial: false,
      });
      expect(engineCalls()).toEqual([
        [
          'suggest',
          {
            dictionary: 'towns',
            query: 'yo',
            pageSize: 10,
            pageToken: '',
            kinds: [],
            recentsList: '',
            asked: { maxStalenessMs: 0, patienceMs: Infinity, caller: expect.any(Object) as object },
          },
        ],
      ]);
    });

    test('passes recents_list and page_token to the engine', async () => {
      harness.autocomplete.answers.suggest = () => Promise.resolve({ suggestions: [], nextPageToken: '' });
      const answer = await calls.suggest({ query: '', pageToken: 'next', recentsList: 'alice', pageSize: 3 });
      expect(answer).toEqual({ suggestions: [], nextPageToken: '', partial: false });
      expect(engineCalls()[0]?.[1]).toMatchObject({
        query: '',
        pageToken: 'next',
        recentsList: 'alice',
        pageSize: 3,
      });
    });

    test.each(KIND_VALUES)(
      'translates the match kind %s of the request and of the answer',
      async (kind, matchKind) => {
        const found: Suggestion = { ...newYork, kind };
        harness.autocomplete.answers.suggest = () =>
          Promise.resolve({ suggestions: [found], nextPageToken: '' });
        const { suggestions } = await calls.suggest({ matchKinds: [matchKind] });
        expect(suggestions[0]?.matchKind).toBe(matchKind);
        expect(engineCalls()[0]?.[1]).toMatchObject({ kinds: [kind] });
      },
    );

    test('passes each match kind to the engine once, in rank order', async () => {
      const backwards = KIND_VALUES.map(([, value]) => value).reverse();
      await calls.suggest({ matchKinds: [...backwards, ...backwards] });
      expect(engineCalls()[0]?.[1]).toMatchObject({ kinds: MATCH_KINDS });
    });

    test.each([
      ['an unset duration', undefined, 0],
      ['0 s', { seconds: 0n, nanos: 0 }, 0],
      ['1 ms', { seconds: 0n, nanos: 1_000_000 }, 1],
      ['1.9999 ms', { seconds: 0n, nanos: 1_999_900 }, 1],
      ['1.5 s', { seconds: 1n, nanos: 500_000_000 }, 1500],
      ['1 h', { seconds: 3600n, nanos: 0 }, 3_600_000],
    ])(
      'passes a max_staleness of %s to the engine in whole milliseconds',
      async (_title, maxStaleness, ms) => {
        await calls.suggest({ maxStaleness });
        expect(askedView(0).maxStalenessMs).toBe(ms);
      },
    );
  });

  describe('the engine', () => {
    const client = () => harness.completions();

    /** Makes one Suggest and one ListEntries. */
    async function askBoth(from: proto.AutocompleteServiceClient, timeoutMs: number): Promise<void> {
      const options = { deadline: Date.now() + timeoutMs };
      await call(from, from.suggest, suggestRequest(), options);
      await call(from, from.listEntries, proto.ListEntriesRequest.create({ dictionary: 'towns' }), options);
    }

    test('may wait for a load until shortly before the deadline of the call', async () => {
      await askBoth(client(), 60_000);
      for (const { patienceMs } of [askedView(0), askedView(1)]) {
        expect(patienceMs).toBeGreaterThan(0);
        expect(patienceMs).toBeLessThanOrEqual(60_000 - 250);
      }
    });

    test('may wait for a load without end if the call has no deadline', async () => {
      await calls.suggest();
      await calls.listEntries();
      expect([askedView(0).patienceMs, askedView(1).patienceMs]).toEqual([Infinity, Infinity]);
    });

    test('gets the same caller for all calls of a connection, and another caller for another connection', async () => {
      const [first, second] = [client(), client()];
      await askBoth(first, 60_000);
      await askBoth(second, 60_000);
      const callers = [0, 1, 2, 3].map((index) => askedView(index).caller);
      expect(callers[1]).toBe(callers[0]);
      expect(callers[3]).toBe(callers[2]);
      expect(callers[2]).not.toBe(callers[0]);
    });
  });

  describe('page_size', () => {
    const requestedPageSize = () => (engineCalls()[0]?.[1] as { pageSize: number }).pageSize;

    test.each([
      [0, 10],
      [1, 1],
      [100, 100],
      [101, 100],
      [1_000_000_000, 100],
    ])('of %d in Suggest and SuggestRecents becomes %d', async (pageSize, expected) => {
      await calls.suggest({ pageSize });
      expect(requestedPageSize()).toBe(expected);
      harness.autocomplete.reset();
      await calls.suggestRecents({ pageSize });
      expect(engineCalls()[0]?.[2]).toMatchObject({ pageSize: expected });
    });

    test.each([
      [0, 50],
      [1, 1],
      [500, 500],
      [501, 500],
      [1_000_000_000, 500],
    ])('of %d in ListEntries and ListDictionaries becomes %d', async (pageSize, expected) => {
      await calls.listEntries({ pageSize });
      expect(requestedPageSize()).toBe(expected);
      harness.autocomplete.reset();
      await calls.listDictionaries({ pageSize });
      expect(engineCalls()[0]?.[2]).toBe(expected);
    });
  });
});

describe('dictionary translation', () => {
  const engineCalls = () => harness.autocomplete.calls;

  const townsMessage: proto.Dictionary = {
    name: 'towns',
    profile: {
      accents: proto.AccentHandling.ACCENT_HANDLING_KEPT,
      typoMatching: proto.TypoMatching.TYPO_MATCHING_ON,
    },
    foldVersion: 1,
    entryCount: 3n,
    memoryBytes: 613n,
    generation: 1n,
    imports: [],
    serverMemoryBytes: 4096n,
    feedBytes: 90n,
    loadState: proto.LoadState.LOAD_STATE_READY,
  };

  const heavy = entry({
    aliases: ['Big Apple', 'ニューヨーク'],
    weight: 2n ** 52n,
    payload: Buffer.from('{"pop":8}'),
  });
  const heavyEntry: Entry = {
    entryId: 'nyc',
    text: 'New York',
    aliases: ['Big Apple', 'ニューヨーク'],
    weight: 2 ** 52,
    payload: Buffer.from('{"pop":8}'),
  };

  const { AccentHandling, TypoMatching } = proto;
  const PROFILES: readonly [string, proto.Profile | undefined, Profile][] = [
    ['no profile stands for accents kept and typos on', undefined, { accents: 'kept', typos: true }],
    [
      'an empty profile stands for accents kept and typos on',
      {
        accents: AccentHandling.ACCENT_HANDLING_UNSPECIFIED,
        typoMatching: TypoMatching.TYPO_MATCHING_UNSPECIFIED,
      },
      { accents: 'kept', typos: true },
    ],
    [
      'accents kept and typos on',
      { accents: AccentHandling.ACCENT_HANDLING_KEPT, typoMatching: TypoMatching.TYPO_MATCHING_ON },
      { accents: 'kept', typos: true },
    ],
    [
      'accents dropped and typos off',
      { accents: AccentHandling.ACCENT_HANDLING_DROPPED, typoMatching: TypoMatching.TYPO_MATCHING_OFF },
      { accents: 'dropped', typos: false },
    ],
  ];

  describe('CreateDictionary', () => {
    test.each(PROFILES)('passes the profile to the engine: %s', async (_title, profile, expected) => {
      await calls.createDictionary({ profile });
      expect(engineCalls()).toEqual([['createDictionary', 'towns', expected]]);
    });

    test('answers with the dictionary and its full profile', async () => {
      expect(await calls.createDictionary()).toEqual({ dictionary: townsMessage });
      const profile: Profile = { accents: 'dropped', typos: false };
      harness.autocomplete.answers.createDictionary = () => Promise.resolve({ ...towns, profile });
      expect((await calls.createDictionary()).dictionary?.profile).toEqual({
        accents: AccentHandling.ACCENT_HANDLING_DROPPED,
        typoMatching: TypoMatching.TYPO_MATCHING_OFF,
      });
    });
  });

  describe('PutEntries', () => {
    test('passes the entries to the engine unchanged and in order', async () => {
      expect(await calls.putEntries({ entries: [heavy, entry({ entryId: 'b', text: '{}:*%' })] })).toEqual(
        {},
      );
      const plain = { entryId: 'b', text: '{}:*%', aliases: [], weight: 0, payload: Buffer.alloc(0) };
      expect(engineCalls()).toEqual([['putEntries', 'towns', [packEntry(heavyEntry), packEntry(plain)]]]);
    });

    test('accepts two entries with the same entry_id, and keeps their order', async () => {
      await calls.putEntries({ entries: [entry({ text: 'first' }), entry({ text: 'last' })] });
      expect((engineCalls()[0]?.[2] as StoredEntry[]).map(({ record }) => unpackRecord(record).text)).toEqual(
        ['first', 'last'],
      );
    });
  });

  test('DeleteEntries answers with the number of deleted entries', async () => {
    harness.autocomplete.answers.deleteEntries = () => Promise.resolve(2);
    expect(await calls.deleteEntries({ entryIds: ['a', 'b', 'c'] })).toEqual({ deletedCount: 2 });
    expect(engineCalls()).toEqual([['deleteEntries', 'towns', ['a', 'b', 'c']]]);
  });

  describe('ImportDictionary', () => {
    const importing = () => new ImportCall(harness.completions());

    test('starts the import, puts each batch, commits, and answers with the dictionary', async () => {
      const second = [entry({ entryId: 'b' }), entry({ entryId: 'b' })];
      const answer = await importing().all(start, batch([heavy]), batch(second), commit(3));
      expect(answer).toEqual({ dictionary: townsMessage });
      expect(harness.autocomplete.verbs).toEqual(['startImport', 'put', 'put', 'commit']);
      expect(engineCalls()[0]).toEqual(['startImport', 'towns', undefined]);
      expect(engineCalls()[1]).toEqual(['put', [packEntry(heavyEntry)]]);
      expect(engineCalls()[3]).toEqual(['commit', 3]);
    });

    test('commits an import without entries', async () => {
      await importing().all(start, commit(0));
      expect(harness.autocomplete.verbs).toEqual(['startImport', 'commit']);
    });

    test.each(PROFILES.slice(1))(
      'passes the profile to the engine: %s',
      async (_title, profile, expected) => {
        await importing().all({ $case: 'start', value: { dictionary: 'towns', profile } }, commit(0));
        expect(engineCalls()[0]).toEqual(['startImport', 'towns', expected]);
      },
    );
  });

  test('ListEntries passes both bounds to the engine, and answers with entries and selection counts', async () => {
    const listed: ListedEntry = { ...heavyEntry, selectionCount: 2 ** 52 };
    harness.autocomplete.answers.listEntries = () =>
      Promise.resolve({ entries: [listed], nextPageToken: 'more' });
    const answer = await calls.listEntries({ startText: 'A', endText: 'N', pageToken: 'here' });
    expect(answer).toEqual({
      entries: [{ entry: heavy, selectionCount: 2n ** 52n }],
      nextPageToken: 'more',
    });
    expect(engineCalls()).toEqual([
      [
        'listEntries',
        {
          dictionary: 'towns',
          from: 'A',
          to: 'N',
          pageSize: 50,
          pageToken: 'here',
          asked: { maxStalenessMs: 0, patienceMs: Infinity, caller: expect.any(Object) as object },
        },
      ],
    ]);
  });

  test('GetDictionary answers with size, memory, generation, open imports and load state', async () => {
    const imports = [{ startTimeMs: 1_795_172_435_542, receivedCount: 2000 }];
    harness.autocomplete.answers.getDictionary = () => Promise.resolve({ ...towns, generation: 9, imports });
    expect(await calls.getDictionary()).toEqual({
      dictionary: {
        ...townsMessage,
        generation: 9n,
        imports: [{ startTime: { seconds: 1_795_172_435n, nanos: 542_000_000 }, receivedCount: 2000n }],
      },
    });
    expect(engineCalls()).toEqual([['getDictionary', 'towns']]);
  });

  const { LoadState: LoadStateMessage } = proto;
  const LOAD_STATES: readonly [LoadState, proto.LoadState][] = [
    ['not-loaded', LoadStateMessage.LOAD_STATE_NOT_LOADED],
    ['loading', LoadStateMessage.LOAD_STATE_LOADING],
    ['ready', LoadStateMessage.LOAD_STATE_READY],
    ['failed', LoadStateMessage.LOAD_STATE_FAILED],
  ];

  test.each(LOAD_STATES)(
    'GetDictionary, ListDictionaries and CreateDictionary translate the load state %s',
    async (loadState, expected) => {
      const view = { ...towns, index: { loadState, memoryBytes: 0 } };
      const { answers } = harness.autocomplete;
      answers.getDictionary = answers.createDictionary = () => Promise.resolve(view);
      answers.listDictionaries = () => Promise.resolve({ dictionaries: [view], nextPageToken: '' });
      const found = [
        (await calls.getDictionary()).dictionary,
        (await calls.createDictionary()).dictionary,
        ...(await calls.listDictionaries()).dictionaries,
      ];
      expect(found.map((dictionary) => dictionary?.loadState)).toEqual([expected, expected, expected]);
      expect(found[0]?.serverMemoryBytes).toBe(0n);
    },
  );

  test.each([
    ['kept', 1],
    ['dropped', 2],
  ] as const)(
    'GetDictionary answers for accents %s with the fold_version %d of this server',
    async (accents, version) => {
      harness.autocomplete.answers.getDictionary = () =>
        Promise.resolve({ ...towns, profile: { accents, typos: true } });
      expect((await calls.getDictionary()).dictionary?.foldVersion).toBe(version);
    },
  );

  test('GetDictionary answers with memory sizes above 2^32 exactly', async () => {
    harness.autocomplete.answers.getDictionary = () =>
      Promise.resolve({
        ...towns,
        memoryBytes: 2 ** 40 + 1,
        feedBytes: 2 ** 33 + 1,
        index: { loadState: 'ready', memoryBytes: 2 ** 36 + 1 },
      });
    expect((await calls.getDictionary()).dictionary).toMatchObject({
      memoryBytes: 2n ** 40n + 1n,
      feedBytes: 2n ** 33n + 1n,
      serverMemoryBytes: 2n ** 36n + 1n,
    });
  });

  test('ListDictionaries passes prefix and page token to the engine', async () => {
    harness.autocomplete.answers.listDictionaries = () =>
      Promise.resolve({ dictionaries: [towns], nextPageToken: 'more' });
    expect(await calls.listDictionaries({ namePrefix: 't', pageSize: 2, pageToken: 'here' })).toEqual({
      dictionaries: [townsMessage],
      nextPageToken: 'more',
    });
    expect(engineCalls()).toEqual([['listDictionaries', 't', 2, 'here']]);
  });

  test.each([true, false])("DeleteDictionary sends the engine's answer: deleted is %s", async (deleted) => {
    harness.autocomplete.answers.deleteDictionary = () => Promise.resolve(deleted);
    expect(await calls.deleteDictionary()).toEqual({ deleted });
    expect(engineCalls()).toEqual([['deleteDictionary', 'towns']]);
  });
});
