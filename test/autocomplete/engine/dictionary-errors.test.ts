import fc from 'fast-check';
import { Autocomplete, type AutocompleteEngine } from '../../../src/autocomplete/autocomplete';
import {
  noMemoryForDictionary,
  noSuchDictionary,
  readOf,
  stateAfterChange,
} from '../../../src/autocomplete/autocomplete-errors';
import type { EntryStore, Head, Missing, RecentsStore } from '../../../src/autocomplete/entry-store';
import { StoreImport } from '../../../src/autocomplete/import-session';
import { ChangedEntries } from '../../../src/autocomplete/loaded/copy';
import { HeadReads } from '../../../src/autocomplete/loaded/store-reads';
import { NO_WRITER } from '../../../src/autocomplete/quota/amount';
import { MAX_RECORD_BYTES, packRecord, unpackRecord } from '../../../src/autocomplete/record';
import { DEFAULT_PROFILE } from '../../../src/autocomplete/suggestion';
import { systemClock } from '../../../src/base/clock';
import { StoreFailure } from '../../../src/base/errors';
import { systemIdentities } from '../../../src/base/runtime';
import { ANYBODY } from '../../support/autocomplete/dictionary-fixture';
import { ManualClock, settled } from '../../support/manual-clock';
import { assertWithinTime } from '../../support/timed-property';

describe('the errors of dictionaries', () => {
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
    PutEntries: (engine) =>
      engine.putEntries('towns', [{ entryId: 'a', record: new Uint8Array() }], NO_WRITER),
    DeleteEntries: (engine) => engine.deleteEntries('towns', ['a']),
    RecordSelection: (engine) => engine.recordSelection('towns', 'a', 1),
    ImportDictionary: (engine) => engine.startImport('towns', undefined, NO_WRITER),
  };
  const OTHER_WRITES: Calls = {
    DeleteDictionary: (engine) => engine.deleteDictionary('towns'),
    AddRecent: (engine) =>
      engine.addRecent('alice', { text: 'a', entryId: '', payload: new Uint8Array() }, 10),
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
});

describe('the reads of heads', () => {
  function headOf(version: number): Head {
    const profile = { accents: 'kept', typos: true } as const;
    return { kind: 'head', profile, generationId: 'g', version, tail: `t${version}` };
  }

  /** A store whose versions rise with each read. */
  function countingStore() {
    const names: string[] = [];
    const head = (name: string) => Promise.resolve(headOf(names.push(name)));
    return { names, head };
  }

  test('sends one read for all queries of a turn', async () => {
    const store = countingStore();
    const reads = new HeadReads(store, systemClock);
    const answers = await Promise.all([reads.read('a'), reads.read('a'), reads.read('b'), reads.read('a')]);
    expect(store.names).toEqual(['a', 'b']);
    expect(answers.map(({ head }) => head)).toEqual([headOf(1), headOf(1), headOf(2), headOf(1)]);
  });

  test('sends another read for a query that arrives after the read was sent', async () => {
    let answer: (head: Head) => void = () => undefined;
    const sent: string[] = [];
    const head = (name: string) => {
      sent.push(name);
      return new Promise<Head>((resolve) => (answer = resolve));
    };
    const reads = new HeadReads({ head }, systemClock);
    const first = reads.read('a');
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    expect(sent).toEqual(['a']);
    const answerFirst = answer;
    const second = reads.read('a');
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    expect(sent).toEqual(['a', 'a']);
    answerFirst(headOf(1));
    answer(headOf(2));
    expect((await first).head).toEqual(headOf(1));
    expect((await second).head).toEqual(headOf(2));
  });

  test('reports a time between the query and the send of the read', async () => {
    const asked = systemClock.now();
    let sentAt = 0;
    const head = () => {
      sentAt = systemClock.now();
      return Promise.resolve(headOf(1));
    };
    const { notBefore } = await new HeadReads({ head }, systemClock).read('a');
    expect(notBefore).toBeGreaterThanOrEqual(asked);
    expect(notBefore).toBeLessThanOrEqual(sentAt);
  });

  test('rejects all queries of the turn if the store fails, and reads again for later queries', async () => {
    let fails = true;
    const head = () =>
      fails ? Promise.reject(new StoreFailure('no', 'unavailable')) : Promise.resolve(headOf(3));
    const reads = new HeadReads({ head }, systemClock);
    const settled = await Promise.allSettled([reads.read('a'), reads.read('a')]);
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    fails = false;
    expect((await reads.read('a')).head).toEqual(headOf(3));
  });
});

/** An import whose commit ends like this, and the commands that it sends to the store. */
function importWith(commit: () => Promise<unknown>) {
  const sent: string[] = [];
  const store = {
    putImported: () => Promise.resolve({ kind: 'ok' }),
    commitImport: () => {
      sent.push('commit');
      return commit();
    },
    abandonImport: () => {
      sent.push('abandon');
      return Promise.resolve();
    },
  } as unknown as EntryStore;
  const clock = new ManualClock();
  const one = new StoreImport({
    store,
    indexes: { load: () => Promise.resolve() },
    clock,
    name: 'towns',
    importId: 'import',
    owner: '',
    quota: undefined,
    view: () => Promise.reject(new Error('not asked here')),
    sweepSoon: () => sent.push('sweep'),
    onDefect: (error) => {
      throw error;
    },
  });
  return { one, sent, clock };
}

describe('an import with a failed commit', () => {
  it.each([
    ['the store has done nothing', 'no', 'STORE_UNAVAILABLE'],
    ['the outcome is unknown', 'unknown', 'OUTCOME_UNKNOWN'],
  ] as const)(
    'is abandoned if %s, because the import would otherwise take memory for a minute',
    async (_, carriedOut, reason) => {
      const { one, sent, clock } = importWith(() =>
        Promise.reject(new StoreFailure(carriedOut, 'unavailable')),
      );
      await expect(one.commit(0)).rejects.toMatchObject({ reason });
      await settled();
      expect(sent).toEqual(['commit', 'abandon', 'sweep']);
      expect(clock.timerCount).toBe(0);
    },
  );
});

describe('the state of a dictionary after a change', () => {
  it('is the state that was read', async () => {
    expect(await stateAfterChange(Promise.resolve('state'), 'dictionary "a"')).toBe('state');
  });

  it.each([
    ['the store is overloaded', new StoreFailure('no', 'overloaded')],
    ['the store does not answer', new StoreFailure('no', 'unavailable')],
  ])('is unknown if %s, because the change was made', async (_, failure) => {
    const read = readOf(Promise.reject(failure), 'dictionary "a"');
    const state = stateAfterChange(read, 'dictionary "a"', 'import again');
    await expect(state).rejects.toMatchObject({
      reason: 'OUTCOME_UNKNOWN',
      message: expect.stringMatching(/the change of dictionary "a" was made.*import again/) as string,
    });
  });

  it('rejects with any other error of the read', async () => {
    const error = noSuchDictionary('a');
    await expect(stateAfterChange(Promise.reject(error), 'dictionary "a"')).rejects.toBe(error);
  });
});

describe('stored records', () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 });
  const record = fc.record({
    text,
    aliases: fc.array(text, { maxLength: 16 }),
    weight: fc.oneof(fc.maxSafeNat(), fc.constantFrom(0, 127, 128, 16_383, 16_384, 2 ** 52)),
    payload: fc.uint8Array({ maxLength: 1024 }),
  });

  test('unpacks each packed record unchanged', () => {
    assertWithinTime(
      fc.property(record, (packed) => {
        const { payload, ...rest } = unpackRecord(packRecord(packed));
        expect(rest).toEqual({ text: packed.text, aliases: packed.aliases, weight: packed.weight });
        expect(Buffer.compare(payload, packed.payload)).toBe(0);
      }),
    );
  });

  test('packs a short text in three more bytes', () => {
    const packed = packRecord({ text: 'Anna Strand', aliases: [], weight: 3, payload: new Uint8Array() });
    expect(packed.length).toBe('Anna Strand'.length + 3);
  });

  test('packs the largest record within the bound', () => {
    const text = '東'.repeat(170) + 'ab';
    const aliases = Array.from({ length: 16 }, () => text);
    const packed = packRecord({ text, aliases, weight: 2 ** 52, payload: new Uint8Array(1024) });
    expect(packed.length).toBeLessThan(MAX_RECORD_BYTES);
  });

  test('unpacks a copy of the payload, so that a small payload does not keep a large buffer in memory', () => {
    const packed = packRecord({ text: 'a', aliases: [], weight: 0, payload: Uint8Array.of(7) });
    const { payload } = unpackRecord(packed);
    packed.fill(0);
    expect([...payload]).toEqual([7]);
  });
});

describe('changed entries', () => {
  test('counts a deletion as work, so that many deletions are not carried out on the main thread', () => {
    const changed = new ChangedEntries([]);
    for (let n = 0; n < 1000; n += 1) changed.add({ kind: 'delete', entryId: `id ${n}` });
    expect(changed.bytes).toBeGreaterThan(25_000);
    expect([...changed.living()]).toEqual([]);
  });
});
