import { DictionarySweeper } from '../../../src/engine/autocomplete/dictionary-sweeper';
import { systemIdentities } from '../../../src/engine/identities';
import { ManualClock, settled } from '../../support/manual-clock';

type State = 'more' | 'building' | 'clean' | 'gone';

/** The store's list of names, and what each sweep of one comes to, in turn; the last state stays. */
class Shelf {
  readonly names = new Set<string>();
  readonly swept: string[] = [];
  readonly states = new Map<string, State[]>();

  readonly port = {
    names: (_beginning: string, after: string | undefined, limit: number): Promise<readonly string[]> => {
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

function housekeeping(random = 0.5) {
  const [shelf, clock, defects] = [new Shelf(), new ManualClock(), [] as unknown[]];
  const identities = { ...systemIdentities, random: () => random };
  const housekeeper = new DictionarySweeper(shelf.port, clock, identities, (error) => defects.push(error));
  return { shelf, clock, defects, housekeeper };
}

test.each([
  [0, 1000],
  [0.5, 1500],
  [0.999, 1999],
])('the first round comes a second or two after the start, by chance (%d): %d ms', async (random, due) => {
  const { shelf, clock } = housekeeping(random);
  shelf.names.add('towns');
  await clock.advance(due - 1);
  expect(shelf.swept).toEqual([]);
  await clock.advance(1);
  expect(shelf.swept).toEqual(['towns']);
});

test('after the first one there is a round every 15 s, of 64 names each, in turn', async () => {
  const { shelf, clock } = housekeeping();
  const names = Array.from({ length: 100 }, (_, index) => `name ${String(index).padStart(2, '0')}`);
  for (const name of names) shelf.names.add(name);
  await clock.advance(1500);
  expect(shelf.swept).toEqual(names.slice(0, 64));
  await clock.advance(14_999);
  expect(shelf.swept).toHaveLength(64);
  await clock.advance(1);
  expect(shelf.swept).toEqual(names);
  await clock.advance(15_000);
  expect(shelf.swept).toEqual([...names, ...names.slice(0, 64)]);
});

test('a dictionary with more to do is swept until nothing is left', async () => {
  const { shelf, housekeeper } = housekeeping();
  shelf.states.set('towns', ['more', 'more', 'clean']);
  housekeeper.tidy('towns');
  await settled();
  expect(shelf.swept).toEqual(['towns', 'towns', 'towns']);
});

test('one that is gone is taken off the list', async () => {
  const { shelf, housekeeper } = housekeeping();
  shelf.names.add('towns');
  shelf.states.set('towns', ['gone']);
  housekeeper.tidy('towns');
  await settled();
  expect(shelf.names).toEqual(new Set());
});

test.each(['building', 'clean', 'more'] as const)(
  'one that was gone and is there again (%s) when it has been taken off the list goes back on it',
  async (state) => {
    const { shelf, housekeeper } = housekeeping();
    shelf.names.add('towns');
    shelf.states.set('towns', ['gone', state]);
    housekeeper.tidy('towns');
    await settled();
    expect(shelf.names).toEqual(new Set(['towns']));
  },
);

test('a housekeeper that was stopped does nothing more', async () => {
  const { shelf, clock, housekeeper } = housekeeping();
  shelf.names.add('towns');
  housekeeper.stop();
  housekeeper.tidy('towns');
  await clock.advance(60_000);
  expect(shelf.swept).toEqual([]);
  expect(clock.timerCount).toBe(0);
});
