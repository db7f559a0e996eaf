import { DictionarySweeper } from '../../../src/autocomplete/sweeper';
import type { EntryStore } from '../../../src/autocomplete/entry-store';
import { systemIdentities } from '../../../src/base/runtime';
import { ManualClock, settled } from '../../support/manual-clock';

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
