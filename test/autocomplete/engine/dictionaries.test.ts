import { Autocomplete, type NameReader } from '../../../src/autocomplete/autocomplete';
import type { EntryStore } from '../../../src/autocomplete/entry-store';
import { OwnedDictionaries } from '../../../src/autocomplete/quota/usage';
import { DictionarySweeper } from '../../../src/autocomplete/sweeper';
import { systemIdentities } from '../../../src/base/runtime';
import { fourByteEntries, ModelOwnership } from '../../support/autocomplete/model-entry-store';
import { namesUnder } from '../../support/fake-call';
import { ManualClock, settled } from '../../support/manual-clock';

describe('the dictionaries of an owner', () => {
  const [ALICE, BOB] = ['token:alice', 'token:bob'];

  let store: ModelOwnership;
  let owned: OwnedDictionaries;
  beforeEach(() => {
    store = new ModelOwnership();
    owned = new OwnedDictionaries(store);
  });

  const names = (by: string) => [...store.listOf(by)].sort();

  test('the usage of an owner is the sum over its dictionaries, and not over those of others', async () => {
    store.create('one', ALICE, fourByteEntries(2));
    store.create('two', ALICE, fourByteEntries(3));
    store.create('other', BOB, fourByteEntries(50));
    store.create('nobody', '', fourByteEntries(50));
    expect(await owned.usage(ALICE)).toEqual({ entries: 5, bytes: 20 });
    expect(await owned.usage(ALICE, 'two')).toEqual({ entries: 2, bytes: 8 });
    expect(await owned.usage('token:carol')).toEqual({ entries: 0, bytes: 0 });
  });

  test('a walk over many dictionaries reads at most 64 at the same time, and each of them once', async () => {
    for (let i = 0; i < 130; i += 1) store.create(`dictionary ${i}`, ALICE, fourByteEntries(1));
    let reading = 0;
    let most = 0;
    store.before = async (command) => {
      if (command !== 'usage') return;
      reading += 1;
      most = Math.max(most, reading);
      await new Promise(setImmediate);
      reading -= 1;
    };
    expect(await owned.usage(ALICE)).toEqual({ entries: 130, bytes: 520 });
    expect(most).toBe(64);
    expect(store.commands.filter((command) => command === 'usage')).toHaveLength(130);
    expect(store.commands.filter((command) => command === 'owned')).toHaveLength(3);
  });

  test('names of dictionaries that are gone or belong to others leave the list, and count nothing', async () => {
    store.create('mine', ALICE, fourByteEntries(1));
    store.create('other', BOB, fourByteEntries(1));
    store.create('nobody', '', fourByteEntries(1));
    for (const name of ['gone', 'other', 'nobody']) store.listOf(ALICE).add(name);
    expect(await owned.usage(ALICE)).toEqual({ entries: 1, bytes: 4 });
    expect(names(ALICE)).toEqual(['mine']);
  });

  test('the name of a dictionary that an import may create stays in the list', async () => {
    store.listOf(ALICE).add('new');
    store.imported.add('new');
    expect(await owned.usage(ALICE)).toEqual({ entries: 0, bytes: 0 });
    expect(names(ALICE)).toEqual(['new']);
  });

  test('a dictionary that is created while its name leaves the list is listed again', async () => {
    store.listOf(ALICE).add('new');
    store.before = (command) => {
      if (command === 'unregisterOwned') store.create('new', ALICE, fourByteEntries(1));
    };
    await owned.usage(ALICE);
    expect(names(ALICE)).toEqual(['new']);
  });

  test('a name that a failed removal may have taken is listed again by the next walk', async () => {
    store.listOf(ALICE).add('new');
    store.before = (command) => {
      if (command !== 'unregisterOwned') return;
      // The command is carried out, and its answer is lost.
      store.create('new', ALICE, fourByteEntries(1));
      store.listOf(ALICE).delete('new');
      store.isDown = true;
    };
    await expect(owned.usage(ALICE)).rejects.toThrow('store unavailable');
    expect(names(ALICE)).toEqual([]);
    store.isDown = false;
    expect(await owned.usage(ALICE)).toEqual({ entries: 1, bytes: 4 });
    expect(names(ALICE)).toEqual(['new']);
    store.commands.length = 0;
    await owned.usage(ALICE);
    expect(store.commands).toEqual(['owned', 'usage']);
  });

  test('a list stays short while its owner creates and deletes dictionaries with ever new names', async () => {
    for (let i = 0; i < 20; i += 1) store.create(`kept ${i}`, ALICE);
    for (let i = 0; i < 500; i += 1) {
      store.create(`new ${i}`, ALICE);
      await owned.examineSome(ALICE);
      store.dictionaries.delete(`new ${i}`);
    }
    expect(store.listOf(ALICE).size).toBeLessThan(50);
    expect(names(ALICE).filter((name) => name.startsWith('kept'))).toHaveLength(20);
  });

  test('the last examined name is remembered for 1,000 owners, and other owners begin at the first name', async () => {
    for (let i = 0; i <= 1000; i += 1)
      for (const name of ['a', 'b', 'c']) store.listOf(`owner ${i}`).add(name);
    for (const name of ['a', 'b', 'c']) store.imported.add(name);
    const seen = jest.spyOn(store, 'owned');
    const place = async (owner: string) => {
      await owned.examineSome(owner);
      return seen.mock.calls.at(-1)?.[1];
    };
    for (let i = 0; i <= 1000; i += 1) expect(await place(`owner ${i}`)).toBeUndefined();
    expect(await place('owner 0')).toBeUndefined();
    expect(await place('owner 2')).toBe('b');
    expect(await place('owner 2')).toBeUndefined();
  });
});

describe('readable dictionaries', () => {
  /** ListDictionaries for a caller that may not read every name. */

  const NAMES = Array.from(
    { length: 100 },
    (_, index) => `${index % 10 === 7 ? 'b' : 'a'}-${String(index)}`,
  ).sort();

  let inspected: string[];
  let readCount: number;
  beforeEach(() => {
    inspected = [];
    readCount = 0;
  });

  function engine(names: readonly string[] = NAMES): Autocomplete {
    const entries: Partial<EntryStore> = {
      names: (prefix, after, limit) => {
        readCount += 1;
        return Promise.resolve(
          names.filter((name) => name.startsWith(prefix) && name > (after ?? '')).slice(0, limit),
        );
      },
      inspect: (name) => {
        inspected.push(name);
        return Promise.resolve({ kind: 'ok' } as never);
      },
    };
    return new Autocomplete({
      entries: entries as EntryStore,
      recents: {} as never,
      indexes: { stateOf: () => ({ loadState: 'not-loaded', memoryBytes: 0 }) } as never,
      clock: new ManualClock(),
      identities: systemIdentities,
      onDefect: (error) => {
        throw error;
      },
    });
  }

  const reader = (prefix: string): NameReader => ({
    identity: `token:${prefix}`,
    cancelled: false,
    ...namesUnder(prefix),
  });

  async function all(of: Autocomplete, by: NameReader, pageSize: number) {
    const names: string[] = [];
    const tokens: string[] = [];
    for (let token = ''; ;) {
      const page = await of.listDictionaries('', pageSize, token, by);
      names.push(...page.dictionaries.map(({ name }) => name));
      token = page.nextPageToken;
      if (token === '') return { names, tokens };
      tokens.push(Buffer.from(token, 'base64url').toString('utf8', 8));
    }
  }

  test.each([1, 3, 10, 500])(
    'pages of %i have exactly the readable names, and the store is asked for no other',
    async (size) => {
      for (const prefix of ['a-', 'b-', '', 'c']) {
        inspected = [];
        const expected = NAMES.filter((name) => name.startsWith(prefix));
        expect((await all(engine(), reader(prefix), size)).names).toEqual(expected);
        expect(inspected).toEqual(expected);
      }
    },
  );

  test('no page token has a name that the caller may not read', async () => {
    const { tokens } = await all(engine(), reader('b-'), 3);
    expect(tokens.length).toBeGreaterThan(1);
    expect(tokens.filter((token) => !token.startsWith('"b-'))).toEqual([]);
  });

  test('a page token of another identity is refused', async () => {
    const { nextPageToken } = await engine().listDictionaries('', 3, '', reader('a-'));
    await expect(engine().listDictionaries('', 3, nextPageToken, reader('b-'))).rejects.toMatchObject({
      reason: 'INVALID_FIELD',
    });
  });

  test('a call skips any number of names that the caller may not read', async () => {
    const foreign = ['a', 'c'].flatMap((team) =>
      Array.from({ length: 500 }, (_, index) => `${team}-${index}`),
    );
    const many = [...foreign, 'b-1'].sort();
    expect((await all(engine(many), reader('b-'), 1)).names).toEqual(['b-1']);
    expect(readCount).toBeLessThanOrEqual(3);
  });

  test('a caller that may read no name with the prefix costs no command', async () => {
    const { dictionaries, nextPageToken } = await engine().listDictionaries('a-', 1, '', reader('b-'));
    expect([dictionaries, nextPageToken, readCount]).toEqual([[], '', 0]);
  });

  test('a list of a cancelled call reads nothing', async () => {
    const cancelled = { ...reader('b-'), nextReadable: (name: string) => name, cancelled: true };
    await engine().listDictionaries('', 1, '', cancelled);
    expect(readCount).toBe(0);
  });
});

describe('the sweeper', () => {
  type State = Awaited<ReturnType<EntryStore['sweep']>>;

  /** A store with a list of dictionary names. Each name has results for its sweeps, and its last result repeats. */
  class FakeDictionaries {
    readonly names = new Set<string>();
    readonly swept: string[] = [];
    readonly states = new Map<string, State[]>();

    readonly port = {
      names: (_prefix: string, after: string | undefined, limit: number): Promise<readonly string[]> => {
        const all = [...this.names].sort().filter((name) => after === undefined || name > after);
        return Promise.resolve(all.slice(0, limit));
      },
      sweep: (name: string): Promise<State> => {
        this.swept.push(name);
        const left = this.states.get(name) ?? [];
        return Promise.resolve((left.length > 1 ? left.shift() : left[0]) ?? 'clean');
      },
      register: (name: string): Promise<void> => Promise.resolve(void this.names.add(name)),
      unregister: (name: string): Promise<void> => Promise.resolve(void this.names.delete(name)),
    };
  }

  function startSweeper(random = 0.5) {
    const [store, clock, defects] = [new FakeDictionaries(), new ManualClock(), [] as unknown[]];
    const identities = { ...systemIdentities, random: () => random };
    const sweeper = new DictionarySweeper(store.port, clock, identities, (error) => defects.push(error));
    return { store, clock, defects, sweeper };
  }

  test.each([
    [0, 1000],
    [0.5, 1500],
    [0.999, 1999],
  ])('the sweeper starts its first round, by the random number %d, after %d ms', async (random, due) => {
    const { store, clock } = startSweeper(random);
    store.names.add('towns');
    await clock.advance(due - 1);
    expect(store.swept).toEqual([]);
    await clock.advance(1);
    expect(store.swept).toEqual(['towns']);
  });

  test('the sweeper sweeps the next 64 names every 15 s', async () => {
    const { store, clock } = startSweeper();
    const names = Array.from({ length: 100 }, (_, index) => `name ${String(index).padStart(2, '0')}`);
    for (const name of names) store.names.add(name);
    await clock.advance(1500);
    expect(store.swept).toEqual(names.slice(0, 64));
    await clock.advance(14_999);
    expect(store.swept).toHaveLength(64);
    await clock.advance(1);
    expect(store.swept).toEqual(names);
    await clock.advance(15_000);
    expect(store.swept).toEqual([...names, ...names.slice(0, 64)]);
  });

  test('the sweeper repeats the sweep of a dictionary while there is more to do', async () => {
    const { store, sweeper } = startSweeper();
    store.states.set('towns', ['more', 'more', 'clean']);
    sweeper.sweepSoon('towns');
    await settled();
    expect(store.swept).toEqual(['towns', 'towns', 'towns']);
  });

  test('the sweeper sweeps a dictionary once more if it is asked again during a sweep', async () => {
    const { store, sweeper } = startSweeper();
    for (let asked = 0; asked < 3; asked += 1) sweeper.sweepSoon('towns');
    expect(store.swept).toEqual(['towns']);
    await settled();
    expect(store.swept).toEqual(['towns', 'towns']);
  });

  test('the sweeper removes a dictionary that does not exist any more from the list of names', async () => {
    const { store, sweeper } = startSweeper();
    store.names.add('towns');
    store.states.set('towns', ['gone']);
    sweeper.sweepSoon('towns');
    await settled();
    expect(store.names).toEqual(new Set());
  });

  test.each(['later', 'clean', 'more'] as const)(
    'the sweeper puts a removed dictionary back into the list of names if the next sweep finds its state "%s"',
    async (state) => {
      const { store, sweeper } = startSweeper();
      store.names.add('towns');
      store.states.set('towns', ['gone', state]);
      sweeper.sweepSoon('towns');
      await settled();
      expect(store.names).toEqual(new Set(['towns']));
    },
  );

  test.each(['later', 'clean', 'more'] as const)(
    'the sweeper puts a name back in its next round if the removal from the list failed and the state is then "%s"',
    async (state) => {
      const { store, clock, defects, sweeper } = startSweeper();
      await clock.advance(1500);
      store.names.add('towns');
      store.states.set('towns', ['gone', state, 'clean']);
      const { unregister } = store.port;
      store.port.unregister = async (name) => {
        await unregister(name);
        throw new Error('the answer was lost');
      };
      sweeper.sweepSoon('towns');
      await settled();
      expect(store.names).toEqual(new Set());
      expect(defects).toHaveLength(1);
      await clock.advance(15_000);
      expect(store.names).toEqual(new Set(['towns']));
    },
  );

  test('a stopped sweeper sweeps nothing and has no timer', async () => {
    const { store, clock, sweeper } = startSweeper();
    store.names.add('towns');
    sweeper.stop();
    sweeper.sweepSoon('towns');
    await clock.advance(60_000);
    expect(store.swept).toEqual([]);
    expect(clock.timerCount).toBe(0);
  });
});
