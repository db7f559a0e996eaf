import { status } from '@grpc/grpc-js';
import {
  TypoMatching,
  type AccentHandling,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { holdfastError } from '../../clients/typescript';
import { batch, commit, entries, entry, ImportCall, start, type Part } from './autocomplete-calls';
import { failureOf, Harness } from './harness';

let harness: Harness;
beforeAll(async () => {
  harness = await Harness.start();
});
beforeEach(() => harness.autocomplete.reset());
afterAll(() => harness.close());

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
