import { HoldfastError } from '../../src/base/errors';
import { preload } from '../../src/server/startup';
import { ManualClock } from '../support/manual-clock';

/** The loads at the start of a server, with loads that tests answer. */

let clock: ManualClock;
let stopping: AbortController;
let asked: string[];
let progress: number[];
let warned: unknown[];
let answer: (dictionary: string) => Promise<void>;

beforeEach(() => {
  clock = new ManualClock();
  stopping = new AbortController();
  [asked, progress, warned] = [[], [], []];
});

const unavailable = () => Promise.reject(new HoldfastError('STORE_UNAVAILABLE', 'no answer'));

function run(...names: string[]): Promise<void> {
  return preload({
    names,
    indexes: {
      load: (dictionary) => {
        asked.push(dictionary);
        return answer(dictionary);
      },
    },
    clock,
    log: {
      info: () => undefined,
      warn: ({ dictionary }: { dictionary?: unknown }) => void warned.push(dictionary),
    } as never,
    onProgress: (leftCount) => progress.push(leftCount),
    stopped: stopping.signal,
  });
}

test('loads one dictionary after another, and tells how many are left', async () => {
  answer = () => Promise.resolve();
  await run('a', 'b');
  expect(asked).toEqual(['a', 'b']);
  expect(progress).toEqual([2, 1, 0]);
  expect(warned).toEqual([]);
});

test('leaves out a dictionary that cannot be loaded', async () => {
  answer = (dictionary) =>
    dictionary === 'a' ? Promise.reject(new HoldfastError('NO_SUCH_DICTIONARY', 'none')) : Promise.resolve();
  await run('a', 'b');
  expect([asked, progress, warned]).toEqual([['a', 'b'], [2, 1, 0], ['a']]);
});

test('tries again while the store does not answer', async () => {
  answer = unavailable;
  const done = run('a');
  await clock.advance(10_000);
  expect(asked.length).toBeGreaterThan(5);
  expect(progress).toEqual([1]);
  answer = () => Promise.resolve();
  await clock.advance(1000);
  await done;
  expect([progress, warned]).toEqual([[1, 0], []]);
});

test('waits 2 minutes for the store in all, and not for each dictionary', async () => {
  answer = unavailable;
  const done = run('a', 'b', 'c');
  for (let seconds = 0; seconds < 118; seconds += 1) await clock.advance(1000);
  expect(progress).toEqual([3]);
  for (let seconds = 0; seconds < 2; seconds += 1) await clock.advance(1000);
  await done;
  expect([progress, warned]).toEqual([
    [3, 2, 1, 0],
    ['a', 'b', 'c'],
  ]);
});

test('ends at once when the server stops, without a warning and without another load', async () => {
  answer = () => new Promise(() => undefined);
  const done = run('a', 'b');
  stopping.abort();
  await done;
  expect([asked, progress, warned]).toEqual([['a'], [2], []]);
});
