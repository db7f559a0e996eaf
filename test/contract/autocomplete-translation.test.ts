import * as proto from '../../generated/typescript/holdfast/v1/autocomplete_service';
import {
  type AskedView,
  MATCH_KINDS,
  type MatchKind,
  type Suggestion,
} from '../../src/autocomplete/suggestion';
import { autocompleteCalls, suggestRequest, type AutocompleteCalls } from './autocomplete-calls';
import { newYork } from './fake-engines';
import { call, Harness } from './harness';

let harness: Harness;
let calls: AutocompleteCalls;
beforeAll(async () => {
  harness = await Harness.start();
  calls = autocompleteCalls(harness);
});
beforeEach(() => harness.autocomplete.reset());
afterAll(() => harness.close());

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
    expect(engineCalls()).toEqual([['addRecent', 'alice', { text: 'New York', entryId: 'nyc', payload }, 7]]);
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
  ])('passes a max_staleness of %s to the engine in whole milliseconds', async (_title, maxStaleness, ms) => {
    await calls.suggest({ maxStaleness });
    expect(askedView(0).maxStalenessMs).toBe(ms);
  });
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
