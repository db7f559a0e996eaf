import * as proto from '../../generated/typescript/holdfast/v1/autocomplete_service';
import type {
  Entry,
  ListedEntry,
  MatchKind,
  Profile,
  Suggestion,
} from '../../src/engine/autocomplete/suggestion';
import { MATCH_KINDS } from '../../src/engine/autocomplete/suggestion';
import {
  autocompleteCalls,
  batch,
  commit,
  entry,
  ImportCall,
  start,
  type AutocompleteCalls,
} from './autocomplete-calls';
import { newYork, towns } from './fake-autocomplete';
import { Harness } from './harness';

let harness: Harness;
let calls: AutocompleteCalls;
beforeAll(async () => {
  harness = await Harness.start();
  calls = autocompleteCalls(harness);
});
beforeEach(() => harness.autocomplete.forget());
afterAll(() => harness.close());

const asked = () => harness.autocomplete.asked;

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

describe('AddRecent', () => {
  test('puts a recent in front of a list', async () => {
    const payload = Buffer.from([0, 1]);
    expect(await calls.addRecent({ entryId: 'nyc', payload, capacity: 7 })).toEqual({});
    expect(asked()).toEqual([['addRecent', 'alice', { text: 'New York', entryId: 'nyc', payload }, 7]]);
  });

  test('has a capacity of 100 where none is given', async () => {
    await calls.addRecent();
    expect(asked()[0]?.[3]).toBe(100);
  });
});

describe('RemoveRecent', () => {
  test.each([true, false])('says whether there was one: %s', async (removed) => {
    harness.autocomplete.told.removeRecent = () => Promise.resolve(removed);
    expect(await calls.removeRecent({ entryId: 'nyc', text: '' })).toEqual({ removed });
    expect(asked()).toEqual([['removeRecent', 'alice', { entryId: 'nyc', text: '' }]]);
  });
});

test.each([true, false])('DeleteRecents says whether there was such a list: %s', async (deleted) => {
  harness.autocomplete.told.deleteRecents = () => Promise.resolve(deleted);
  expect(await calls.deleteRecents()).toEqual({ deleted });
  expect(asked()).toEqual([['deleteRecents', 'alice']]);
});

test('SuggestRecents asks for ten of all kinds, and answers what was found', async () => {
  harness.autocomplete.told.suggestRecents = () => Promise.resolve([newYork, { ...newYork, recent: true }]);
  const { suggestions } = await calls.suggestRecents();
  expect(suggestions).toEqual([newYorkMessage, { ...newYorkMessage, recent: true }]);
  expect(asked()).toEqual([['suggestRecents', 'alice', { query: 'yo', pageSize: 10, kinds: [] }]]);
});

const { AccentHandling, TypoMatching } = proto;
const PROFILES: readonly [string, proto.Profile | undefined, Profile][] = [
  ['none is accents kept, typos on', undefined, { accents: 'kept', typos: true }],
  [
    'an empty one is the same',
    {
      accents: AccentHandling.ACCENT_HANDLING_UNSPECIFIED,
      typoMatching: TypoMatching.TYPO_MATCHING_UNSPECIFIED,
    },
    { accents: 'kept', typos: true },
  ],
  [
    'kept and on',
    { accents: AccentHandling.ACCENT_HANDLING_KEPT, typoMatching: TypoMatching.TYPO_MATCHING_ON },
    { accents: 'kept', typos: true },
  ],
  [
    'dropped and off',
    { accents: AccentHandling.ACCENT_HANDLING_DROPPED, typoMatching: TypoMatching.TYPO_MATCHING_OFF },
    { accents: 'dropped', typos: false },
  ],
];

describe('CreateDictionary', () => {
  test.each(PROFILES)('with a profile: %s', async (_what, profile, expected) => {
    await calls.createDictionary({ profile });
    expect(asked()).toEqual([['createDictionary', 'towns', expected]]);
  });

  test('answers the dictionary with its profile spelled out', async () => {
    expect(await calls.createDictionary()).toEqual({ dictionary: townsMessage });
    const profile: Profile = { accents: 'dropped', typos: false };
    harness.autocomplete.told.createDictionary = () => Promise.resolve({ ...towns, profile });
    expect((await calls.createDictionary()).dictionary?.profile).toEqual({
      accents: AccentHandling.ACCENT_HANDLING_DROPPED,
      typoMatching: TypoMatching.TYPO_MATCHING_OFF,
    });
  });
});

describe('PutEntries', () => {
  test('hands the entries on as they are, in their order', async () => {
    expect(await calls.putEntries({ entries: [heavy, entry({ entryId: 'b', text: '{}:*%' })] })).toEqual({});
    const plain = { entryId: 'b', text: '{}:*%', aliases: [], weight: 0, payload: Buffer.alloc(0) };
    expect(asked()).toEqual([['putEntries', 'towns', [heavyEntry, plain]]]);
  });

  test('accepts an entry_id twice, and keeps their order, by which the last counts', async () => {
    await calls.putEntries({ entries: [entry({ text: 'first' }), entry({ text: 'last' })] });
    expect((asked()[0]?.[2] as Entry[]).map(({ text }) => text)).toEqual(['first', 'last']);
  });
});

test('DeleteEntries says how many there were', async () => {
  harness.autocomplete.told.deleteEntries = () => Promise.resolve(2);
  expect(await calls.deleteEntries({ entryIds: ['a', 'b', 'c'] })).toEqual({ deletedCount: 2 });
  expect(asked()).toEqual([['deleteEntries', 'towns', ['a', 'b', 'c']]]);
});

describe('ImportDictionary', () => {
  const importing = () => new ImportCall(harness.completions());

  test('starts, puts each batch, commits, and answers the dictionary', async () => {
    const second = [entry({ entryId: 'b' }), entry({ entryId: 'b' })];
    const answer = await importing().all(start, batch([heavy]), batch(second), commit(3));
    expect(answer).toEqual({ dictionary: townsMessage });
    expect(harness.autocomplete.verbs).toEqual(['startImport', 'put', 'put', 'commit']);
    expect(asked()[0]).toEqual(['startImport', 'towns', undefined]);
    expect(asked()[1]).toEqual(['put', [heavyEntry]]);
    expect(asked()[3]).toEqual(['commit', 3]);
  });

  test('may have no entries at all', async () => {
    await importing().all(start, commit(0));
    expect(harness.autocomplete.verbs).toEqual(['startImport', 'commit']);
  });

  test.each(PROFILES.slice(1))('with a profile: %s', async (_what, profile, expected) => {
    await importing().all({ $case: 'start', value: { dictionary: 'towns', profile } }, commit(0));
    expect(asked()[0]).toEqual(['startImport', 'towns', expected]);
  });
});

describe('RecordSelection', () => {
  test('counts once where no count is given', async () => {
    expect(await calls.recordSelection()).toEqual({ recorded: true, selectionCount: 5n });
    await calls.recordSelection({ count: 1_000_000 });
    expect(asked()).toEqual([
      ['recordSelection', 'towns', 'nyc', 1],
      ['recordSelection', 'towns', 'nyc', 1_000_000],
    ]);
  });

  test('says that there is no such entry', async () => {
    harness.autocomplete.told.recordSelection = () => Promise.resolve(undefined);
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
  test('asks for ten of all kinds, and answers what was found', async () => {
    expect(await calls.suggest()).toEqual({
      suggestions: [newYorkMessage],
      nextPageToken: 'next',
      partial: false,
    });
    expect(asked()).toEqual([
      [
        'suggest',
        { dictionary: 'towns', query: 'yo', pageSize: 10, pageToken: '', kinds: [], recentsList: '' },
      ],
    ]);
  });

  test('hands on whose recents, and where to go on', async () => {
    harness.autocomplete.told.suggest = () =>
      Promise.resolve({ suggestions: [], nextPageToken: '', partial: true });
    const answer = await calls.suggest({ query: '', pageToken: 'next', recentsList: 'alice', pageSize: 3 });
    expect(answer).toEqual({ suggestions: [], nextPageToken: '', partial: true });
    expect(asked()[0]?.[1]).toMatchObject({
      query: '',
      pageToken: 'next',
      recentsList: 'alice',
      pageSize: 3,
    });
  });

  test.each(KIND_VALUES)('names the kind %s both ways', async (kind, matchKind) => {
    const found: Suggestion = { ...newYork, kind };
    harness.autocomplete.told.suggest = () =>
      Promise.resolve({ suggestions: [found], nextPageToken: '', partial: false });
    const { suggestions } = await calls.suggest({ matchKinds: [matchKind] });
    expect(suggestions[0]?.matchKind).toBe(matchKind);
    expect(asked()[0]?.[1]).toMatchObject({ kinds: [kind] });
  });

  test('asks for each kind once, in the order of ranks, in whatever order they come', async () => {
    const backwards = KIND_VALUES.map(([, value]) => value).reverse();
    await calls.suggest({ matchKinds: [...backwards, ...backwards] });
    expect(asked()[0]?.[1]).toMatchObject({ kinds: MATCH_KINDS });
  });
});

describe('page_size', () => {
  const suggested = () => (asked()[0]?.[1] as { pageSize: number }).pageSize;

  test.each([
    [0, 10],
    [1, 1],
    [100, 100],
    [101, 100],
    [1_000_000_000, 100],
  ])('%d of Suggest and SuggestRecents is %d', async (pageSize, expected) => {
    await calls.suggest({ pageSize });
    expect(suggested()).toBe(expected);
    harness.autocomplete.forget();
    await calls.suggestRecents({ pageSize });
    expect(asked()[0]?.[2]).toMatchObject({ pageSize: expected });
  });

  test.each([
    [0, 50],
    [1, 1],
    [500, 500],
    [501, 500],
    [1_000_000_000, 500],
  ])('%d of the lists is %d', async (pageSize, expected) => {
    await calls.listEntries({ pageSize });
    expect(suggested()).toBe(expected);
    harness.autocomplete.forget();
    await calls.listDictionaries({ pageSize });
    expect(asked()[0]?.[2]).toBe(expected);
  });
});

test('ListEntries asks between two bounds, and shows entries with their selections', async () => {
  const listed: ListedEntry = { ...heavyEntry, selectionCount: 2 ** 52 };
  harness.autocomplete.told.listEntries = () => Promise.resolve({ entries: [listed], nextPageToken: 'more' });
  const answer = await calls.listEntries({ startText: 'A', endText: 'N', pageToken: 'here' });
  expect(answer).toEqual({
    entries: [{ entry: heavy, selectionCount: 2n ** 52n }],
    nextPageToken: 'more',
  });
  expect(asked()).toEqual([
    ['listEntries', { dictionary: 'towns', from: 'A', to: 'N', pageSize: 50, pageToken: 'here' }],
  ]);
});

test('GetDictionary shows size, memory, generation, and what imports have brought so far', async () => {
  const imports = [{ startTimeMs: 1_795_172_435_542, receivedCount: 2000 }];
  harness.autocomplete.told.getDictionary = () => Promise.resolve({ ...towns, generation: 9, imports });
  expect(await calls.getDictionary()).toEqual({
    dictionary: {
      ...townsMessage,
      generation: 9n,
      imports: [{ startTime: { seconds: 1_795_172_435n, nanos: 542_000_000 }, receivedCount: 2000n }],
    },
  });
  expect(asked()).toEqual([['getDictionary', 'towns']]);
});

test('ListDictionaries asks by prefix, page by page', async () => {
  harness.autocomplete.told.listDictionaries = () =>
    Promise.resolve({ dictionaries: [towns], nextPageToken: 'more' });
  expect(await calls.listDictionaries({ namePrefix: 't', pageSize: 2, pageToken: 'here' })).toEqual({
    dictionaries: [townsMessage],
    nextPageToken: 'more',
  });
  expect(asked()).toEqual([['listDictionaries', 't', 2, 'here']]);
});

test.each([true, false])('DeleteDictionary says whether there was one: %s', async (deleted) => {
  harness.autocomplete.told.deleteDictionary = () => Promise.resolve(deleted);
  expect(await calls.deleteDictionary()).toEqual({ deleted });
  expect(asked()).toEqual([['deleteDictionary', 'towns']]);
});
