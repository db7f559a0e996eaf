import * as proto from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { packEntry, unpackRecord } from '../../src/autocomplete/record';
import type { Entry, ListedEntry, LoadState, Profile, StoredEntry } from '../../src/autocomplete/suggestion';
import {
  autocompleteCalls,
  batch,
  commit,
  entry,
  ImportCall,
  start,
  type AutocompleteCalls,
} from './autocomplete-calls';
import { towns } from './fake-engines';
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
    expect(await calls.putEntries({ entries: [heavy, entry({ entryId: 'b', text: '{}:*%' })] })).toEqual({});
    const plain = { entryId: 'b', text: '{}:*%', aliases: [], weight: 0, payload: Buffer.alloc(0) };
    expect(engineCalls()).toEqual([['putEntries', 'towns', [packEntry(heavyEntry), packEntry(plain)]]]);
  });

  test('accepts two entries with the same entry_id, and keeps their order', async () => {
    await calls.putEntries({ entries: [entry({ text: 'first' }), entry({ text: 'last' })] });
    expect((engineCalls()[0]?.[2] as StoredEntry[]).map(({ record }) => unpackRecord(record).text)).toEqual([
      'first',
      'last',
    ]);
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

  test.each(PROFILES.slice(1))('passes the profile to the engine: %s', async (_title, profile, expected) => {
    await importing().all({ $case: 'start', value: { dictionary: 'towns', profile } }, commit(0));
    expect(engineCalls()[0]).toEqual(['startImport', 'towns', expected]);
  });
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
