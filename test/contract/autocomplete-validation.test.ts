import { status } from '@grpc/grpc-js';
import type {
  AccentHandling,
  MatchKind,
  TypoMatching,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { holdfastError } from '../../clients/typescript';
import {
  autocompleteCalls,
  batch,
  commit,
  entries,
  entry,
  ImportCall,
  start,
  type AutocompleteCalls,
  type EntryFields,
  type Part,
} from './autocomplete-calls';
import { failureOf, Harness } from './harness';

let harness: Harness;
let calls: AutocompleteCalls;
beforeAll(async () => {
  harness = await Harness.start();
  calls = autocompleteCalls(harness);
});
beforeEach(() => harness.autocomplete.forget());
afterAll(() => harness.close());

/** A call with one thing wrong, the field that must be named, and words that its description must have. */
type Bad = readonly [what: string, ask: () => Promise<unknown>, field: string, words: string];

/** Each call that takes a name of a list or a dictionary, and what else is a name to it. */
const NAMED: Readonly<Record<string, (name: string) => Promise<unknown>>> = {
  'AddRecent list': (list) => calls.addRecent({ list }),
  'RemoveRecent list': (list) => calls.removeRecent({ list }),
  'SuggestRecents list': (list) => calls.suggestRecents({ list }),
  'DeleteRecents list': (list) => calls.deleteRecents({ list }),
  'CreateDictionary dictionary': (dictionary) => calls.createDictionary({ dictionary }),
  'PutEntries dictionary': (dictionary) => calls.putEntries({ dictionary }),
  'PutEntries entries[0].entry_id': (entryId) => calls.putEntries({ entries: [entry({ entryId })] }),
  'DeleteEntries dictionary': (dictionary) => calls.deleteEntries({ dictionary }),
  'DeleteEntries entry_ids[1]': (entryId) => calls.deleteEntries({ entryIds: ['nyc', entryId] }),
  'RecordSelection dictionary': (dictionary) => calls.recordSelection({ dictionary }),
  'RecordSelection entry_id': (entryId) => calls.recordSelection({ entryId }),
  'Suggest dictionary': (dictionary) => calls.suggest({ dictionary }),
  'ListEntries dictionary': (dictionary) => calls.listEntries({ dictionary }),
  'GetDictionary dictionary': (dictionary) => calls.getDictionary({ dictionary }),
  'DeleteDictionary dictionary': (dictionary) => calls.deleteDictionary({ dictionary }),
  'ImportDictionary start.dictionary': (dictionary) =>
    imported({ $case: 'start', value: { dictionary, profile: undefined } }),
  // What is shown and found, and so must not be empty either.
  'AddRecent text': (text) => calls.addRecent({ text }),
  'RemoveRecent text': (text) => calls.removeRecent({ text }),
  'PutEntries entries[0].text': (text) => calls.putEntries({ entries: [entry({ text })] }),
  'PutEntries entries[0].aliases[1]': (alias) =>
    calls.putEntries({ entries: [entry({ aliases: ['good', alias] })] }),
};

/** Each field that may be empty, but is no better than a name otherwise. */
const OPTIONAL: Readonly<Record<string, (text: string) => Promise<unknown>>> = {
  'AddRecent entry_id': (entryId) => calls.addRecent({ entryId }),
  'RemoveRecent entry_id': (entryId) => calls.removeRecent({ entryId }),
  'SuggestRecents query': (query) => calls.suggestRecents({ query }),
  'Suggest query': (query) => calls.suggest({ query }),
  'Suggest recents_list': (recentsList) => calls.suggest({ recentsList }),
  'ListEntries start_text': (startText) => calls.listEntries({ startText }),
  'ListEntries end_text': (endText) => calls.listEntries({ endText }),
  'ListDictionaries name_prefix': (namePrefix) => calls.listDictionaries({ namePrefix }),
};

const BAD_TEXTS: readonly (readonly [what: string, text: string, words: string])[] = [
  ['of 513 bytes', 'x'.repeat(513), '513 bytes'],
  ['of 10 kB', 'x'.repeat(10_000), '10000 bytes'],
  ['of 171 characters and 513 bytes', '€'.repeat(171), '513 bytes'],
  ['with NUL', 'a\0b', 'control'],
  ['with a line break', 'a\nb', 'control'],
  ['with a C1 control', 'a\x85b', 'control'],
  ['with U+FFFD', 'a\u{FFFD}b', 'U+FFFD'],
];

const fieldOf = (key: string): string => key.slice(key.indexOf(' ') + 1);

const badTexts: readonly Bad[] = Object.entries({ ...NAMED, ...OPTIONAL }).flatMap(([key, ask]) =>
  BAD_TEXTS.map(([what, text, words]): Bad => [`${key} ${what}`, () => ask(text), fieldOf(key), words]),
);
const missing = Object.entries(NAMED).map(([key, ask]): Bad => [
  `${key} that is missing`,
  () => ask(''),
  fieldOf(key),
  'is required',
]);

const unknownKind = (value: number): MatchKind => value;
const put = (fields: EntryFields) => calls.putEntries({ entries: [entry(), entry(fields)] });
const withProfile = (accents: number, typoMatching: number) => ({
  profile: { accents: accents as AccentHandling, typoMatching: typoMatching as TypoMatching },
});
const imported = (...parts: (Part | undefined)[]) => new ImportCall(harness.completions()).all(...parts);

const BAD_VALUES: readonly Bad[] = [
  [
    'a payload of 1025 bytes',
    () => calls.addRecent({ payload: Buffer.alloc(1025) }),
    'payload',
    '1025 bytes',
  ],
  ['a capacity of 0', () => calls.addRecent({ capacity: 0 }), 'capacity', 'is 0 and must be from 1 to 1000'],
  ['a capacity of 1001', () => calls.addRecent({ capacity: 1001 }), 'capacity', 'is 1001'],
  ['a negative capacity', () => calls.addRecent({ capacity: -1 }), 'capacity', 'is -1'],
  ['a negative page_size of Suggest', () => calls.suggest({ pageSize: -1 }), 'page_size', 'negative'],
  ['one of SuggestRecents', () => calls.suggestRecents({ pageSize: -1 }), 'page_size', 'negative'],
  ['one of ListEntries', () => calls.listEntries({ pageSize: -(2 ** 31) }), 'page_size', '-2147483648'],
  ['one of ListDictionaries', () => calls.listDictionaries({ pageSize: -1 }), 'page_size', 'negative'],
  [
    'a kind that is unspecified',
    () => calls.suggest({ matchKinds: [unknownKind(1), unknownKind(0)] }),
    'match_kinds[1]',
    '0 is no MatchKind',
  ],
  [
    'a kind that does not exist',
    () => calls.suggestRecents({ matchKinds: [unknownKind(7)] }),
    'match_kinds[0]',
    '7 is no MatchKind',
  ],
  [
    'an AccentHandling that does not exist',
    () => calls.createDictionary(withProfile(3, 1)),
    'profile.accents',
    '3 is no AccentHandling',
  ],
  [
    'a TypoMatching that does not exist',
    () => calls.createDictionary(withProfile(1, -1)),
    'profile.typo_matching',
    '-1 is no TypoMatching',
  ],
  ['no entries', () => calls.putEntries({ entries: [] }), 'entries', 'has 0 and must have from 1 to 1000'],
  ['1001 entries', () => calls.putEntries({ entries: entries(1001) }), 'entries', 'has 1001'],
  ['no entry_ids', () => calls.deleteEntries({ entryIds: [] }), 'entry_ids', 'has 0'],
  [
    '1001 entry_ids',
    () => calls.deleteEntries({ entryIds: entries(1001).map(({ entryId }) => entryId) }),
    'entry_ids',
    'has 1001',
  ],
  ['17 aliases', () => put({ aliases: Array(17).fill('a') as string[] }), 'entries[1].aliases', 'has 17'],
  ['a weight of -1', () => put({ weight: -1n }), 'entries[1].weight', 'is -1 and must be from 0 to 2^52'],
  ['a weight of 2^52 + 1', () => put({ weight: 2n ** 52n + 1n }), 'entries[1].weight', '4503599627370497'],
  ['a weight of int64 min', () => put({ weight: -(2n ** 63n) }), 'entries[1].weight', 'from 0 to 2^52'],
  ['a payload over 1 KiB', () => put({ payload: Buffer.alloc(1025) }), 'entries[1].payload', '1025 bytes'],
  ['a count of 0', () => calls.recordSelection({ count: 0 }), 'count', 'is 0'],
  ['a count of 1000001', () => calls.recordSelection({ count: 1_000_001 }), 'count', 'to 1000000'],
];

describe('INVALID_FIELD, and the engine is not asked:', () => {
  test.each([...missing, ...badTexts, ...BAD_VALUES])('%s', async (_what, ask, field, words) => {
    const error = await failureOf(ask());
    expect(error.code).toBe(status.INVALID_ARGUMENT);
    expect(error.details).toMatch(/ \[INVALID_FIELD\]$/);
    expect(holdfastError(error)?.violations).toEqual([
      { field, description: expect.stringContaining(words) as string },
    ]);
    expect(harness.autocomplete.asked).toEqual([]);
  });
});

/** What an import was before its bad part came, and what that part is. */
type BadImport = readonly [what: string, parts: (Part | undefined)[], field: string, words: string];

const NOT_STARTED: readonly BadImport[] = [
  ['that is empty', [], 'start', 'is required as the first part'],
  ['whose first message has no part', [undefined], 'start', 'is required as the first part'],
  ['that begins with a batch', [batch([entry()])], 'start', 'batch came'],
  ['that begins with its commit', [commit(0)], 'start', 'commit came'],
  [
    'with a bad profile',
    [{ $case: 'start', value: { dictionary: 'towns', ...withProfile(9, 1) } }],
    'start.profile.accents',
    '9 is no',
  ],
];

const bad = { ...entry(), text: 'a\0' };
const STARTED: readonly BadImport[] = [
  ['that merely ends', [start, batch([entry()])], 'commit', 'is required'],
  ['that starts twice', [start, start], 'start', 'comes twice'],
  ['with a message that has no part', [start, undefined], 'part', 'is required'],
  ['with a batch after its commit', [start, commit(0), batch([entry()])], 'batch', 'after commit'],
  ['with a second commit', [start, commit(0), commit(0)], 'commit', 'after commit'],
  ['with a second start after its commit', [start, commit(0), start], 'start', 'after commit'],
  ['with an empty message after its commit', [start, commit(0), undefined], 'part', 'after commit'],
  ['with an empty batch', [start, batch([])], 'batch.entries', 'has 0'],
  ['with a batch of 1001', [start, batch(entries(1001))], 'batch.entries', 'has 1001'],
  [
    'with a bad entry in its second batch',
    [start, batch(entries(3)), batch([...entries(3), bad])],
    'batch.entries[3].text',
    'control',
  ],
  ['that commits -1', [start, commit(-1)], 'commit.entry_count', 'is -1'],
  ['that commits 2^53', [start, commit(2n ** 53n)], 'commit.entry_count', '9007199254740992'],
];

describe('INVALID_FIELD of an import', () => {
  const expectRefusal = async (parts: readonly (Part | undefined)[], field: string, words: string) => {
    const error = await failureOf(imported(...parts));
    expect(error.code).toBe(status.INVALID_ARGUMENT);
    expect(holdfastError(error)).toMatchObject({
      reason: 'INVALID_FIELD',
      violations: [{ field, description: expect.stringContaining(words) as string }],
    });
  };

  test.each(NOT_STARTED)('%s: nothing is begun', async (_what, parts, field, words) => {
    await expectRefusal(parts, field, words);
    expect(harness.autocomplete.asked).toEqual([]);
  });

  test.each(STARTED)('%s: it is abandoned, and never committed', async (_what, parts, field, words) => {
    await expectRefusal(parts, field, words);
    expect(harness.autocomplete.verbs.filter((verb) => verb !== 'put')).toEqual(['startImport', 'abandon']);
  });
});

test('every bad field is named at once', async () => {
  const error = await failureOf(
    calls.putEntries({
      dictionary: '',
      entries: [entry({ entryId: '' }), entry(), entry({ text: '\0', weight: -1n, aliases: [''] })],
    }),
  );
  expect(holdfastError(error)?.violations.map(({ field }) => field)).toEqual([
    'dictionary',
    'entries[0].entry_id',
    'entries[2].text',
    'entries[2].aliases[0]',
    'entries[2].weight',
  ]);
});

test('a thousand bad entries are refused in no more words than a few', async () => {
  const wrong = entries(1000).map((one) => ({ ...one, text: '', aliases: Array(16).fill('\0') as string[] }));
  const error = await failureOf(calls.putEntries({ entries: wrong }));
  expect(holdfastError(error)?.violations[0]?.field).toBe('entries[0].text');
  expect(error.details.length).toBeLessThan(2100);
});

describe('the bounds themselves are accepted:', () => {
  const longest = '€'.repeat(170) + 'xx';
  const good: readonly (readonly [what: string, ask: () => Promise<unknown>])[] = [
    ...Object.entries({ ...NAMED, ...OPTIONAL })
      .filter(([key]) => !key.startsWith('ImportDictionary'))
      .map(([key, ask]) => [`${key} of 512 bytes`, () => ask(longest)] as const),
    ...Object.entries(OPTIONAL).map(([key, ask]) => [`${key} that is empty`, () => ask('')] as const),
    [
      'a text with what is syntax elsewhere',
      () => calls.addRecent({ list: '{}:*%', text: '{}:*% \u{202E}' }),
    ],
    ['a payload of 1024 bytes', () => calls.addRecent({ payload: Buffer.alloc(1024, 0xff) })],
    ['a capacity of 1', () => calls.addRecent({ capacity: 1 })],
    ['a capacity of 1000', () => calls.addRecent({ capacity: 1000 })],
    ['1000 entries', () => calls.putEntries({ entries: entries(1000) })],
    ['16 aliases', () => put({ aliases: Array(16).fill('a') as string[] })],
    ['a weight of 2^52', () => put({ weight: 2n ** 52n })],
    ['a count of 1', () => calls.recordSelection({ count: 1 })],
  ];

  test.each(good)('%s', async (_what, ask) => {
    await ask();
    expect(harness.autocomplete.asked).toHaveLength(1);
  });
});

test('a recent to remove is named by its id or its text', async () => {
  await calls.removeRecent({ entryId: 'nyc', text: '' });
  await calls.removeRecent({ entryId: '', text: 'New York' });
  const error = await failureOf(calls.removeRecent({ entryId: '', text: '' }));
  expect(holdfastError(error)?.violations).toEqual([{ field: 'text', description: 'is required' }]);
});

test('a text that folds to more than 1024 bytes is refused, and says so', async () => {
  const [one] = entries(1);
  const wrong = [{ ...one!, text: '\ufdfa'.repeat(160), aliases: ['\ufdfa'.repeat(31)] }];
  const error = await failureOf(calls.putEntries({ entries: wrong }));
  expect(holdfastError(error)?.violations).toEqual([
    { field: 'entries[0].text', description: 'is 5280 bytes as it is compared, 1024 at most are accepted' },
  ]);
});
