import { status } from '@grpc/grpc-js';
import { holdfastError } from '../../../clients/typescript';
import {
  type AccentHandling,
  type MatchKind,
  TypoMatching,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import {
  autocompleteCalls,
  type AutocompleteCalls,
  batch,
  commit,
  entries,
  entry,
  type EntryFields,
  ImportCall,
  type Part,
  start,
} from '../../contract/autocomplete-calls';
import { failureOf, Harness } from '../../contract/harness';

describe('autocomplete validation', () => {
  let harness: Harness;
  let calls: AutocompleteCalls;
  beforeAll(async () => {
    harness = await Harness.start();
    calls = autocompleteCalls(harness);
  });
  beforeEach(() => harness.autocomplete.reset());
  afterAll(() => harness.close());

  /** A call with one bad field, the field's path, and a part of its description. */
  type BadCall = readonly [title: string, ask: () => Promise<unknown>, field: string, words: string];

  /** Every required text of every call, as "call field". */
  const REQUIRED: Readonly<Record<string, (name: string) => Promise<unknown>>> = {
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
    'AddRecent text': (text) => calls.addRecent({ text }),
    'RemoveRecent text': (text) => calls.removeRecent({ text }),
    'PutEntries entries[0].text': (text) => calls.putEntries({ entries: [entry({ text })] }),
    'PutEntries entries[0].aliases[1]': (alias) =>
      calls.putEntries({ entries: [entry({ aliases: ['good', alias] })] }),
  };

  /** Every text that may be empty, as "call field". */
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

  const BAD_TEXTS: readonly (readonly [title: string, text: string, words: string])[] = [
    ['of 513 bytes', 'x'.repeat(513), '513 bytes'],
    ['of 3 kB', 'x'.repeat(3000), '3000 bytes'],
    ['of 171 characters and 513 bytes', '€'.repeat(171), '513 bytes'],
    ['with NUL', 'a\0b', 'control'],
    ['with a line break', 'a\nb', 'control'],
    ['with a C1 control', 'a\x85b', 'control'],
    ['with U+FFFD', 'a\u{FFFD}b', 'U+FFFD'],
  ];

  const fieldOf = (key: string): string => key.slice(key.indexOf(' ') + 1);

  const badTexts: readonly BadCall[] = Object.entries({ ...REQUIRED, ...OPTIONAL }).flatMap(([key, ask]) =>
    BAD_TEXTS.map(([title, text, words]): BadCall => [
      `${key} ${title}`,
      () => ask(text),
      fieldOf(key),
      words,
    ]),
  );
  const missing = Object.entries(REQUIRED).map(([key, ask]): BadCall => [
    `${key} unset`,
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

  const BAD_VALUES: readonly BadCall[] = [
    [
      'AddRecent payload of 1025 bytes',
      () => calls.addRecent({ payload: Buffer.alloc(1025) }),
      'payload',
      '1025 bytes',
    ],
    [
      'AddRecent capacity 0',
      () => calls.addRecent({ capacity: 0 }),
      'capacity',
      'is 0 and must be from 1 to 1000',
    ],
    ['AddRecent capacity 1001', () => calls.addRecent({ capacity: 1001 }), 'capacity', 'is 1001'],
    ['AddRecent capacity -1', () => calls.addRecent({ capacity: -1 }), 'capacity', 'is -1'],
    ['Suggest page_size -1', () => calls.suggest({ pageSize: -1 }), 'page_size', 'negative'],
    [
      'Suggest max_staleness -1 ns',
      () => calls.suggest({ maxStaleness: { seconds: 0n, nanos: -1 } }),
      'max_staleness',
      'must be from 0 ms to 1 h',
    ],
    [
      'Suggest max_staleness -1 s',
      () => calls.suggest({ maxStaleness: { seconds: -1n, nanos: 0 } }),
      'max_staleness',
      'must be from 0 ms to 1 h',
    ],
    [
      'Suggest max_staleness 1 h and 1 ns',
      () => calls.suggest({ maxStaleness: { seconds: 3600n, nanos: 1 } }),
      'max_staleness',
      'must be from 0 ms to 1 h',
    ],
    [
      'Suggest max_staleness 10,000 years',
      () => calls.suggest({ maxStaleness: { seconds: 315_576_000_000n, nanos: 0 } }),
      'max_staleness',
      'must be from 0 ms to 1 h',
    ],
    [
      'Suggest max_staleness with the signs of seconds and nanos mixed',
      () => calls.suggest({ maxStaleness: { seconds: 1n, nanos: -1 } }),
      'max_staleness',
      'is not a valid Duration',
    ],
    [
      'Suggest max_staleness with 10^9 nanos',
      () => calls.suggest({ maxStaleness: { seconds: 0n, nanos: 1_000_000_000 } }),
      'max_staleness',
      'is not a valid Duration',
    ],
    [
      'Suggest max_staleness with the seconds of int64 max',
      () => calls.suggest({ maxStaleness: { seconds: 2n ** 63n - 1n, nanos: 0 } }),
      'max_staleness',
      'is not a valid Duration',
    ],
    ['SuggestRecents page_size -1', () => calls.suggestRecents({ pageSize: -1 }), 'page_size', 'negative'],
    [
      'ListEntries page_size of int32 min',
      () => calls.listEntries({ pageSize: -(2 ** 31) }),
      'page_size',
      '-2147483648',
    ],
    [
      'ListDictionaries page_size -1',
      () => calls.listDictionaries({ pageSize: -1 }),
      'page_size',
      'negative',
    ],
    [
      'Suggest match_kinds with MATCH_KIND_UNSPECIFIED',
      () => calls.suggest({ matchKinds: [unknownKind(1), unknownKind(0)] }),
      'match_kinds[1]',
      '0 is not a MatchKind',
    ],
    [
      'SuggestRecents match_kinds with an unknown value',
      () => calls.suggestRecents({ matchKinds: [unknownKind(7)] }),
      'match_kinds[0]',
      '7 is not a MatchKind',
    ],
    [
      'CreateDictionary with an unknown AccentHandling',
      () => calls.createDictionary(withProfile(3, 1)),
      'profile.accents',
      '3 is not an AccentHandling',
    ],
    [
      'CreateDictionary with an unknown TypoMatching',
      () => calls.createDictionary(withProfile(1, -1)),
      'profile.typo_matching',
      '-1 is not a TypoMatching',
    ],
    [
      'PutEntries without entries',
      () => calls.putEntries({ entries: [] }),
      'entries',
      'has no items and must have from 1 to 1000',
    ],
    [
      'PutEntries with 1001 entries',
      () => calls.putEntries({ entries: entries(1001) }),
      'entries',
      'has more than 1000',
    ],
    [
      'DeleteEntries without entry_ids',
      () => calls.deleteEntries({ entryIds: [] }),
      'entry_ids',
      'has no items',
    ],
    [
      'DeleteEntries with 1001 entry_ids',
      () => calls.deleteEntries({ entryIds: entries(1001).map(({ entryId }) => entryId) }),
      'entry_ids',
      'has more than 1000',
    ],
    [
      'PutEntries with 17 aliases',
      () => put({ aliases: Array(17).fill('a') as string[] }),
      'entries[1].aliases',
      'has more than 16',
    ],
    [
      'PutEntries weight -1',
      () => put({ weight: -1n }),
      'entries[1].weight',
      'is -1 and must be from 0 to 2^52',
    ],
    [
      'PutEntries weight 2^52 + 1',
      () => put({ weight: 2n ** 52n + 1n }),
      'entries[1].weight',
      '4503599627370497',
    ],
    [
      'PutEntries weight of int64 min',
      () => put({ weight: -(2n ** 63n) }),
      'entries[1].weight',
      'from 0 to 2^52',
    ],
    [
      'PutEntries payload of 1025 bytes',
      () => put({ payload: Buffer.alloc(1025) }),
      'entries[1].payload',
      '1025 bytes',
    ],
    ['RecordSelection count 0', () => calls.recordSelection({ count: 0 }), 'count', 'is 0'],
    [
      'RecordSelection count 1000001',
      () => calls.recordSelection({ count: 1_000_001 }),
      'count',
      'to 1000000',
    ],
  ];

  describe('a request with a bad field', () => {
    test.each([...missing, ...badTexts, ...BAD_VALUES])(
      'answers INVALID_FIELD without an engine call: %s',
      async (_title, ask, field, words) => {
        const error = await failureOf(ask());
        expect(error.code).toBe(status.INVALID_ARGUMENT);
        expect(error.details).toMatch(/ \[INVALID_FIELD\]$/);
        expect(holdfastError(error)?.violations).toEqual([
          { field, description: expect.stringContaining(words) as string },
        ]);
        expect(harness.autocomplete.calls).toEqual([]);
      },
    );
  });

  test('the error of one PutEntries call names every bad field', async () => {
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

  test('the error text for 1000 bad entries is shorter than 2100 characters', async () => {
    const wrong = entries(1000).map((valid) => ({
      ...valid,
      text: '',
      aliases: Array(16).fill('\0') as string[],
    }));
    const error = await failureOf(calls.putEntries({ entries: wrong }));
    expect(holdfastError(error)?.violations[0]?.field).toBe('entries[0].text');
    expect(error.details.length).toBeLessThan(2100);
  });

  describe('a request with a value at its bound', () => {
    const longest = '€'.repeat(170) + 'xx';
    const good: readonly (readonly [title: string, ask: () => Promise<unknown>])[] = [
      ...Object.entries({ ...REQUIRED, ...OPTIONAL })
        .filter(([key]) => !key.startsWith('ImportDictionary'))
        .map(([key, ask]) => [`${key} of 512 bytes`, () => ask(longest)] as const),
      ...Object.entries(OPTIONAL).map(([key, ask]) => [`${key} empty`, () => ask('')] as const),
      [
        'a text with characters that are syntax elsewhere',
        () => calls.addRecent({ list: '{}:*%', text: '{}:*% \u{202E}' }),
      ],
      ['a payload of 1024 bytes', () => calls.addRecent({ payload: Buffer.alloc(1024, 0xff) })],
      ['a capacity of 1', () => calls.addRecent({ capacity: 1 })],
      ['a capacity of 1000', () => calls.addRecent({ capacity: 1000 })],
      ['1000 entries', () => calls.putEntries({ entries: entries(1000) })],
      ['16 aliases', () => put({ aliases: Array(16).fill('a') as string[] })],
      ['a weight of 2^52', () => put({ weight: 2n ** 52n })],
      ['a max_staleness of 1 h', () => calls.suggest({ maxStaleness: { seconds: 3600n, nanos: 0 } })],
      ['a max_staleness of 0', () => calls.suggest({ maxStaleness: { seconds: 0n, nanos: 0 } })],
      ['a count of 1', () => calls.recordSelection({ count: 1 })],
    ];

    test.each(good)('is accepted: %s', async (_title, ask) => {
      await ask();
      expect(harness.autocomplete.calls).toHaveLength(1);
    });
  });

  test('RemoveRecent requires an entry_id or a text', async () => {
    await calls.removeRecent({ entryId: 'nyc', text: '' });
    await calls.removeRecent({ entryId: '', text: 'New York' });
    const error = await failureOf(calls.removeRecent({ entryId: '', text: '' }));
    expect(holdfastError(error)?.violations).toEqual([{ field: 'text', description: 'is required' }]);
  });

  describe('a text that folds to more bytes', () => {
    // This character folds to 33 bytes.
    const fits = '\ufdfa'.repeat(62) + 'xx';
    const tooLong = `${fits}x`;

    test('is accepted up to 2048 folded bytes', async () => {
      await calls.putEntries({ entries: [entry({ text: fits, aliases: [fits, 'ﬃ'.repeat(170)] })] });
      expect(harness.autocomplete.verbs).toEqual(['putEntries']);
    });

    test('is refused above 2048 folded bytes, in texts and aliases of puts and imports', async () => {
      const wrong = [entry({ text: '\ufdfa'.repeat(160), aliases: ['good', tooLong] })];
      const violations = (field: string) => [
        { field: `${field}[0].text`, description: 'is 5280 bytes after folding; at most 2048 are accepted' },
        {
          field: `${field}[0].aliases[1]`,
          description: 'is 2049 bytes after folding; at most 2048 are accepted',
        },
      ];
      const error = await failureOf(calls.putEntries({ entries: wrong }));
      expect(holdfastError(error)?.violations).toEqual(violations('entries'));
      const ofImport = await failureOf(imported(start, batch(wrong)));
      expect(holdfastError(ofImport)?.violations).toEqual(violations('batch.entries'));
      expect(harness.autocomplete.verbs).toEqual(['startImport', 'abandon']);
    });

    test('is accepted as a query and as a bound of a listing', async () => {
      const query = '\ufdfa'.repeat(170);
      await calls.suggest({ query });
      await calls.listEntries({ startText: query, endText: query });
      expect(harness.autocomplete.verbs).toEqual(['suggest', 'listEntries']);
    });
  });
});

let harness: Harness;

const unknownAccents = 9 as AccentHandling;

/** An import with a bad last part, the path of the bad field, and a part of the field's description. */
type BadImport = readonly [title: string, parts: (Part | undefined)[], field: string, words: string];

const NOT_STARTED: readonly BadImport[] = [
  ['no message', [], 'start', 'is required as the first part'],
  ['a first message without a part', [undefined], 'start', 'is required as the first part'],
  ['a batch as the first part', [batch([entry()])], 'start', 'batch came instead'],
  ['a large first part', [batch(entries(1000))], 'start', 'in a message of at most 4096 bytes'],
  ['a commit as the first part', [commit(0)], 'start', 'commit came instead'],
  [
    'a bad profile',
    [
      {
        $case: 'start',
        value: {
          dictionary: 'towns',
          profile: { accents: unknownAccents, typoMatching: TypoMatching.TYPO_MATCHING_ON },
        },
      },
    ],
    'start.profile.accents',
    '9 is not',
  ],
];

const bad = { ...entry(), text: 'a\0' };
const STARTED: readonly BadImport[] = [
  ['no commit', [start, batch([entry()])], 'commit', 'is required'],
  ['a second start', [start, start], 'start', 'comes twice'],
  ['a message without a part', [start, undefined], 'part', 'is required'],
  ['a batch after the commit', [start, commit(0), batch([entry()])], 'batch', 'after commit'],
  ['a second commit', [start, commit(0), commit(0)], 'commit', 'after commit'],
  ['a start after the commit', [start, commit(0), start], 'start', 'after commit'],
  ['an empty message after the commit', [start, commit(0), undefined], 'part', 'after commit'],
  ['an empty batch', [start, batch([])], 'batch.entries', 'has no items'],
  ['a batch of 1001 entries', [start, batch(entries(1001))], 'batch.entries', 'has more than 1000'],
  [
    'a bad entry in the second batch',
    [start, batch(entries(3)), batch([...entries(3), bad])],
    'batch.entries[3].text',
    'control',
  ],
  ['a commit of -1 entries', [start, commit(-1)], 'commit.entry_count', 'is -1'],
  ['a commit of 2^53 entries', [start, commit(2n ** 53n)], 'commit.entry_count', '9007199254740992'],
];

describe('an import with a bad part', () => {
  beforeAll(async () => {
    harness = await Harness.start();
  });
  beforeEach(() => harness.autocomplete.reset());
  afterAll(() => harness.close());

  const expectRefusal = async (parts: readonly (Part | undefined)[], field: string, words: string) => {
    const error = await failureOf(new ImportCall(harness.completions()).all(...parts));
    expect(error.code).toBe(status.INVALID_ARGUMENT);
    expect(holdfastError(error)).toMatchObject({
      reason: 'INVALID_FIELD',
      violations: [{ field, description: expect.stringContaining(words) as string }],
    });
  };

  test.each(NOT_STARTED)(
    'gets INVALID_FIELD before the import starts: %s',
    async (_title, parts, field, words) => {
      await expectRefusal(parts, field, words);
      expect(harness.autocomplete.calls).toEqual([]);
    },
  );

  test.each(STARTED)(
    'gets INVALID_FIELD, and the import is abandoned: %s',
    async (_title, parts, field, words) => {
      await expectRefusal(parts, field, words);
      expect(harness.autocomplete.verbs.filter((verb) => verb !== 'put')).toEqual(['startImport', 'abandon']);
    },
  );
});
