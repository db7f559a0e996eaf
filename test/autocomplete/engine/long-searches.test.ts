import { CopySearch } from '../../../src/autocomplete/loaded/search';
import { IndexMemory } from '../../../src/autocomplete/loaded/index-memory';
import { LayerBuilds } from '../../../src/autocomplete/loaded/builds';
import { LoadedDictionaries } from '../../../src/autocomplete/loaded/loaded-dictionaries';
import { Work } from '../../../src/autocomplete/index/work';
import type { AskedView, Entry } from '../../../src/autocomplete/suggestion';
import { eventually } from '../../support/eventually';
import { ManualClock, settled } from '../../support/manual-clock';
import { ModelEntryStore } from '../../support/autocomplete/model-entry-store';
import { TestIndexThread } from '../../support/autocomplete/index-view';

const NAME = 'people';

let indexes: LoadedDictionaries;
let clock: ManualClock;
let thread: TestIndexThread;
let searches: number;
let letThrough: () => void;

beforeEach(async () => {
  clock = new ManualClock(1_000_000);
  thread = new TestIndexThread();
  const store = new ModelEntryStore({ accents: 'kept', typos: true });
  store.put(entry('1', 'Anna'));
  const memory = new IndexMemory(2 ** 20);
  indexes = new LoadedDictionaries({
    store,
    memory,
    builds: new LayerBuilds({ here: thread, small: thread, medium: thread, large: thread }, memory),
    search: new CopySearch(thread),
    clock,
    onDefect: (error) => expect(error).toBeUndefined(),
    onWarning: (text) => expect(text).toBeUndefined(),
    onClose: () => void thread.close(),
  });
  await indexes.load(NAME, 20_000);
  // Each search on the main thread stops, as if the search took too many steps. Then another thread begins the search anew.
  jest.spyOn(Work.prototype, 'spend').mockReturnValue(false);
  searches = 0;
  const wait = new Promise<void>((resolve) => (letThrough = resolve));
  thread.before = (call) => {
    if (call !== 'suggest') return undefined;
    searches += 1;
    return wait;
  };
});

afterEach(async () => {
  jest.restoreAllMocks();
  indexes.close();
  await eventually('no memory in use', () => indexes.usedBytes === 0);
});

function entry(entryId: string, text: string): Entry {
  return { entryId, text, aliases: [], weight: 0, payload: new Uint8Array() };
}

function askLong(asked: Partial<AskedView> = {}): Promise<unknown> {
  const request = { query: 'ann', kinds: [], limit: 10, after: undefined };
  return indexes.rank(NAME, request, { maxStalenessMs: 0, patienceMs: 20_000, caller: undefined, ...asked });
}

test('skips a long search if its caller no longer waits', async () => {
  const first = askLong();
  const second = expect(askLong({ patienceMs: 500 })).rejects.toMatchObject({ reason: 'OVERLOADED' });
  await settled();
  clock.pass(500);
  letThrough();
  await first;
  await second;
  expect(searches).toBe(1);
});

test('carries out the long search of a caller who cannot wait, if no other search is in progress', async () => {
  letThrough();
  await askLong({ patienceMs: 0 });
  expect(searches).toBe(1);
});

test('refuses the long searches of a caller that asks for too many, and serves another caller', async () => {
  const [one, other] = [{}, {}];
  const answers: string[] = [];
  const ask = (caller: object) =>
    askLong({ caller }).then(
      () => answers.push('found'),
      (error: { reason: string }) => answers.push(error.reason),
    );
  const asked = Array.from({ length: 1002 }, () => ask(one));
  await eventually('the refusal', () => answers.length > 0);
  expect(answers).toEqual(['OVERLOADED']);
  const ofOther = ask(other);
  letThrough();
  await ofOther;
  await Promise.all(asked);
  expect(answers.filter((answer) => answer === 'OVERLOADED')).toHaveLength(1);
});
