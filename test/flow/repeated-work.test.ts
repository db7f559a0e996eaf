import { StoreFailure } from '../../src/base/errors';
import { Reruns, Rounds, SharedRuns } from '../../src/flow/rerun';
import { inTurns, nextTurn, OnceATurn } from '../../src/flow/turns';
import { answersInTime } from '../../src/flow/waiting';
import { ManualClock, settled } from '../support/manual-clock';

/** Work whose runs end when the test says so. */
class Work {
  readonly begun: string[] = [];
  private readonly ends: ((error?: Error) => void)[] = [];

  readonly run = (name = 'run'): Promise<number> => {
    const number = this.begun.push(name);
    return new Promise((resolve, reject) =>
      this.ends.push((error) => (error ? reject(error) : resolve(number))),
    );
  };

  async end(error?: Error): Promise<void> {
    this.ends.shift()?.(error);
    await settled();
  }
}

describe('runs that are shared', () => {
  it('begin after each call, one at a time, and calls that come together share one', async () => {
    const work = new Work();
    const runs = new SharedRuns(() => work.run());
    const first = [runs.begunAfterNow(), runs.begunAfterNow()];
    await settled();
    expect([work.begun.length, runs.inProgress, runs.isNextDue]).toEqual([1, true, false]);
    const later = [runs.begunAfterNow(), runs.begunAfterNow()];
    expect([work.begun.length, runs.isNextDue]).toEqual([1, true]);
    await work.end();
    await work.end();
    expect(await Promise.all([...first, ...later])).toEqual([1, 1, 2, 2]);
    expect(runs.inProgress).toBe(false);
  });

  it('go on after a run that failed', async () => {
    const work = new Work();
    const runs = new SharedRuns(() => work.run());
    const failed = runs.begunAfterNow().catch((error: Error) => error.message);
    await settled();
    const next = runs.begunAfterNow();
    await work.end(new Error('failed'));
    await work.end();
    expect([await failed, await next]).toEqual(['failed', 2]);
  });
});

it('runs the work of a key once more if it was asked for meanwhile, and reports a failed run', async () => {
  const work = new Work();
  const errors: unknown[] = [];
  const reruns = new Reruns((error) => errors.push(error));
  for (const key of ['a', 'a', 'a', 'b']) reruns.run(key, () => work.run(key));
  expect(work.begun).toEqual(['a', 'b']);
  const failure = new StoreFailure('no', 'unavailable');
  await work.end(failure);
  expect([work.begun, errors]).toEqual([['a', 'b', 'a'], [failure]]);
  await work.end();
  await work.end();
  reruns.run('a', () => work.run('a'));
  expect(work.begun).toEqual(['a', 'b', 'a', 'a']);
});

it('begins each round a pause after the end of the last, also after a failure, until the end', async () => {
  const [clock, work] = [new ManualClock(), new Work()];
  const errors: string[] = [];
  const onError = ({ message }: Error): number => errors.push(message);
  const rounds = new Rounds({ clock, pauseMs: 100, firstMs: 10, onError }, () => work.run());
  await clock.advance(10);
  await clock.advance(1000);
  expect(work.begun).toHaveLength(1);
  await work.end(new Error('failed'));
  await clock.advance(99);
  expect([work.begun.length, errors]).toEqual([1, ['failed']]);
  await clock.advance(1);
  expect(work.begun).toHaveLength(2);
  rounds.end();
  await work.end();
  await clock.advance(1000);
  expect(work.begun).toHaveLength(2);
});

it('does some work in each turn of the event loop, until it need not go on', async () => {
  const done: number[] = [];
  const partly: number[] = [];
  inTurns([1, 2, 3, 4, 5], 2, (item) => done.push(item));
  inTurns(
    [1, 2, 3, 4, 5],
    2,
    (item) => partly.push(item),
    () => partly.length < 4,
  );
  expect(done).toEqual([1, 2]);
  await nextTurn();
  expect(done).toEqual([1, 2, 3, 4]);
  await nextTurn();
  await nextTurn();
  expect([done, partly]).toEqual([
    [1, 2, 3, 4, 5],
    [1, 2, 3, 4],
  ]);
});

it('runs once in a turn of the event loop, however often it is asked for', async () => {
  let count = 0;
  const once = new OnceATurn(() => (count += 1));
  once.soon();
  once.soon();
  expect(count).toBe(0);
  await nextTurn();
  once.soon();
  expect(count).toBe(1);
  await nextTurn();
  expect(count).toBe(2);
});

describe('several questions', () => {
  const onError = (): void => undefined;
  const times = { firstMs: 1000, othersMs: 100, onError };
  const later = <T>(clock: ManualClock, ms: number, value: T) =>
    new Promise<T>((resolve) => clock.after(ms, () => resolve(value)));

  it('wait for a while after the first answer', async () => {
    const clock = new ManualClock();
    const asked = [later(clock, 50, 'first'), later(clock, 140, 'second'), later(clock, 160, 'late')];
    const answers = answersInTime(asked, { clock, ...times });
    for (let ms = 0; ms < 200; ms += 10) await clock.advance(10);
    expect(await answers).toEqual(['first', 'second']);
  });

  it('end when all have an answer or an error, and after the longest time without any', async () => {
    const clock = new ManualClock();
    const failed = Promise.reject<string>(new Error('failed'));
    expect(await answersInTime([Promise.resolve('only'), failed], { clock, ...times })).toEqual(['only']);
    expect(await answersInTime([], { clock, ...times })).toEqual([]);
    const none = answersInTime([new Promise<string>(() => undefined)], { clock, ...times });
    await clock.advance(1000);
    expect(await none).toEqual([]);
  });
});
