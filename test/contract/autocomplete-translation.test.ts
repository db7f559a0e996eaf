import * as proto from '../../generated/typescript/holdfast/v1/autocomplete_service';
import type { MatchKind, Suggestion } from '../../src/engine/autocomplete/suggestion';
import { MATCH_KINDS } from '../../src/engine/autocomplete/suggestion';
import { autocompleteCalls, type AutocompleteCalls } from './autocomplete-calls';
import { newYork } from './fake-engines';
import { Harness } from './harness';

let harness: Harness;
let calls: AutocompleteCalls;
beforeAll(async () => {
  harness = await Harness.start();
  calls = autocompleteCalls(harness);
});
beforeEach(() => harness.autocomplete.reset());
afterAll(() => harness.close());

const engineCalls = () => harness.autocomplete.calls;

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
        { dictionary: 'towns', query: 'yo', pageSize: 10, pageToken: '', kinds: [], recentsList: '' },
      ],
    ]);
  });

  test('passes recents_list and page_token to the engine', async () => {
    harness.autocomplete.answers.suggest = () =>
      Promise.resolve({ suggestions: [], nextPageToken: '', partial: true });
    const answer = await calls.suggest({ query: '', pageToken: 'next', recentsList: 'alice', pageSize: 3 });
    expect(answer).toEqual({ suggestions: [], nextPageToken: '', partial: true });
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
        Promise.resolve({ suggestions: [found], nextPageToken: '', partial: false });
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
