import { Autocomplete, type AutocompleteEngine } from '../../../src/autocomplete/autocomplete';
import { noMemoryForDictionary } from '../../../src/autocomplete/autocomplete-errors';
import type { EntryStore, Missing, RecentsStore } from '../../../src/autocomplete/entry-store';
import { DEFAULT_PROFILE } from '../../../src/autocomplete/suggestion';
import { NO_WRITER } from '../../../src/autocomplete/quota/amount';
import { StoreFailure } from '../../../src/base/errors';
import { systemIdentities } from '../../../src/base/runtime';
import { ManualClock } from '../../support/manual-clock';
import { ANYBODY } from '../../support/autocomplete/dictionary-fixture';

/** A port with this answer for every method. */
function always<Port extends object>(answer: () => Promise<unknown>): Port {
  return new Proxy({}, { get: () => answer }) as Port;
}

function engineWith(answer: () => Promise<unknown>): Autocomplete {
  const registered: Partial<EntryStore> = { register: () => Promise.resolve() };
  return new Autocomplete({
    entries: Object.assign(Object.create(always<EntryStore>(answer)) as EntryStore, registered),
    recents: always<RecentsStore>(answer),
    indexes: always(() => Promise.reject(new Error('not asked here'))),
    clock: new ManualClock(),
    identities: systemIdentities,
    onDefect: (error) => {
      throw error;
    },
  });
}

type Calls = Readonly<Record<string, (engine: AutocompleteEngine) => Promise<unknown>>>;

const READS_OF_A_DICTIONARY: Calls = {
  GetDictionary: (engine) => engine.getDictionary('towns'),
};
const OTHER_READS: Calls = {
  ListDictionaries: (engine) => engine.listDictionaries('', 10, '', ANYBODY),
  SuggestRecents: (engine) => engine.suggestRecents('alice', { query: '', pageSize: 10, kinds: [] }),
};
const WRITES_OF_A_DICTIONARY: Calls = {
  CreateDictionary: (engine) => engine.createDictionary('towns', DEFAULT_PROFILE, NO_WRITER),
  PutEntries: (engine) => engine.putEntries('towns', [{ entryId: 'a', record: new Uint8Array() }], NO_WRITER),
  DeleteEntries: (engine) => engine.deleteEntries('towns', ['a']),
  RecordSelection: (engine) => engine.recordSelection('towns', 'a', 1),
  ImportDictionary: (engine) => engine.startImport('towns', undefined, NO_WRITER),
};
const OTHER_WRITES: Calls = {
  DeleteDictionary: (engine) => engine.deleteDictionary('towns'),
  AddRecent: (engine) => engine.addRecent('alice', { text: 'a', entryId: '', payload: new Uint8Array() }, 10),
  RemoveRecent: (engine) => engine.removeRecent('alice', { text: 'a', entryId: '' }),
  DeleteRecents: (engine) => engine.deleteRecents('alice'),
};

const MISSING: readonly (readonly [Missing, string, RegExp])[] = [
  [{ kind: 'unknown' }, 'NO_SUCH_DICTIONARY', /^dictionary "towns" does not exist; create or import it$/],
  [
    { kind: 'too-new', format: 7 },
    'NOT_IMPLEMENTED',
    /^dictionary "towns" was made by a newer version of this server, in format 7; use a newer server$/,
  ],
];

describe.each(MISSING)('a dictionary that the store answers with %j', (missing, reason, message) => {
  it.each(Object.entries({ ...READS_OF_A_DICTIONARY, ...WRITES_OF_A_DICTIONARY }))(
    `ends ${'%s'} with ${reason}`,
    async (_name, call) => {
      await expect(call(engineWith(() => Promise.resolve(missing)))).rejects.toMatchObject({
        reason,
        message: expect.stringMatching(message) as string,
        details: {},
      });
    },
  );
});

describe('a store that may have carried out the command', () => {
  const engine = () => engineWith(() => Promise.reject(new StoreFailure('unknown', 'unavailable')));

  it.each(Object.entries({ ...READS_OF_A_DICTIONARY, ...OTHER_READS }))(
    'ends %s with STORE_UNAVAILABLE, because the call changes nothing',
    async (_name, call) => {
      await expect(call(engine())).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
    },
  );

  it.each(Object.entries({ ...WRITES_OF_A_DICTIONARY, ...OTHER_WRITES }))(
    'ends %s with OUTCOME_UNKNOWN',
    async (_name, call) => {
      await expect(call(engine())).rejects.toMatchObject({ reason: 'OUTCOME_UNKNOWN' });
    },
  );
});

describe('a store that has not carried out the command', () => {
  it.each([
    ['unavailable', 'STORE_UNAVAILABLE'],
    ['overloaded', 'OVERLOADED'],
    ['full', 'STORE_FULL'],
  ] as const)('and is %s ends every write with %s', async (kind, reason) => {
    const engine = engineWith(() => Promise.reject(new StoreFailure('no', kind)));
    for (const call of Object.values({ ...WRITES_OF_A_DICTIONARY, ...OTHER_WRITES })) {
      await expect(call(engine)).rejects.toMatchObject({ reason });
    }
  });
});

test('the error of a dictionary that does not fit names the bytes needed, the bytes allowed, and the setting', () => {
  const error = noMemoryForDictionary('towns', { neededBytes: 3_000_000, heldBytes: 0 }, 1_048_576);
  expect(error.reason).toBe('QUOTA_EXCEEDED');
  expect(error.message).toMatch(
    /^dictionary "towns" needs at least 3000000 bytes .* 1048576 bytes .* HOLDFAST_DICTIONARY_MEMORY$/,
  );
  expect(error.details).toEqual({ metadata: { limit: '1048576' }, retryAfterMs: 'never' });
});

test.each([
  { neededBytes: 1_000_000, heldBytes: 0 },
  { neededBytes: 1_500_000, heldBytes: 500_000 },
])('the error of a dictionary that fits alone asks for a retry: %j', (bytes) => {
  const error = noMemoryForDictionary('towns', bytes, 1_048_576);
  expect(error.message).toMatch(
    /; try again when other dictionaries need less, or raise HOLDFAST_DICTIONARY_MEMORY$/,
  );
  expect(error.details).toEqual({ metadata: { limit: '1048576' } });
});
