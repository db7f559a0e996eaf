import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { closeAll, eventually, eventuallyPasses } from './eventually';
import { assertWithinTime } from './timed-property';

describe('closeAll', () => {
  const failing = (message: string) => () => Promise.reject(new Error(message));

  it('runs each step after the end of the step before', async () => {
    const log: string[] = [];
    const slow = async (): Promise<void> => {
      await new Promise(setImmediate);
      log.push('slow');
    };
    await closeAll(slow, () => log.push('quick'));
    expect(log).toEqual(['slow', 'quick']);
  });

  it('runs the steps after a failing step, and then throws the first error', async () => {
    const last = jest.fn();
    await expect(closeAll(failing('first'), failing('second'), last)).rejects.toThrow('first');
    expect(last).toHaveBeenCalledTimes(1);
  });

  it('catches the error of a step that is not asynchronous', async () => {
    const last = jest.fn();
    const step = (): never => {
      throw new Error('at once');
    };
    await expect(closeAll(step, last)).rejects.toThrow('at once');
    expect(last).toHaveBeenCalledTimes(1);
  });
});

const SOON = { timeoutMs: 80, everyMs: 5 };
const OFTEN = { everyMs: 5 };

describe('eventually', () => {
  it('resolves to the first truthy value', async () => {
    const answers = [undefined, false, 0, '', 'here', 'later'];
    expect(await eventually('an answer', () => answers.shift(), OFTEN)).toBe('here');
  });

  it('checks again after an error', async () => {
    let tries = 0;
    const check = async (): Promise<boolean> => {
      if (++tries < 3) throw new Error('not yet');
      return true;
    };
    await eventually('the third try', check, OFTEN);
    expect(tries).toBe(3);
  });

  it('rejects with the description and the last value or error', async () => {
    await expect(eventually('rain', () => null, SOON)).rejects.toThrow(
      /not within \d+ ms: rain; last answer: null/,
    );
    const check = (): never => {
      throw new Error('dry');
    };
    await expect(eventually('rain', check, SOON)).rejects.toThrow(/rain; last error: dry/);
  });

  it('repeats an assertion until it passes', async () => {
    let n = 0;
    await eventuallyPasses('three', () => expect(++n).toBe(3), OFTEN);
    await expect(eventuallyPasses('never', () => expect(1).toBe(2), SOON)).rejects.toThrow(/never/);
  });
});

const BUDGET = { budgetMs: 300 };
const LONGER_THAN_THE_BUDGET_MS = 500;

describe('assertWithinTime', () => {
  it('waits for the end of the run in which the time is over, and checks at least ten inputs', async () => {
    let begun = 0;
    let ended = 0;
    const run = async (): Promise<void> => {
      begun += 1;
      if (begun === 2) await sleep(LONGER_THAN_THE_BUDGET_MS);
      ended += 1;
    };
    await assertWithinTime(fc.asyncProperty(fc.nat(), run), BUDGET);
    expect({ begun, ended }).toEqual({ begun: 10, ended: 10 });
  });

  it('rejects with the input and the error when a run fails after the time is over', async () => {
    let begun = 0;
    const run = async (): Promise<void> => {
      begun += 1;
      if (begun === 1) return;
      await sleep(LONGER_THAN_THE_BUDGET_MS);
      throw new Error('the lease is lost');
    };
    await expect(
      assertWithinTime(fc.asyncProperty(fc.constant('a lease'), run), BUDGET),
    ).rejects.toMatchObject({
      message: expect.stringContaining('Counterexample: ["a lease"]'),
      cause: expect.objectContaining({ message: 'the lease is lost' }),
    });
  });

  it('rejects with the counterexample of fast-check when a run fails within the time', async () => {
    const run = (): Promise<void> => Promise.reject(new Error('no'));
    await expect(
      assertWithinTime(fc.asyncProperty(fc.constant(7), run), { budgetMs: 10_000 }),
    ).rejects.toThrow(/Counterexample: \[7\]/);
  });

  it('makes a failing input smaller', async () => {
    const run = (value: number): Promise<void> =>
      value < 100 ? Promise.resolve() : Promise.reject(new Error('too large'));
    await expect(
      assertWithinTime(fc.asyncProperty(fc.nat({ max: 1_000_000 }), run), { budgetMs: 10_000 }),
    ).rejects.toThrow(/Counterexample: \[100\]/);
  });

  it('checks a property of a plain function in the same way, and all examples', () => {
    const inputs: number[] = [];
    const property = fc.property(fc.nat(), (value) => void inputs.push(value));
    assertWithinTime(property, { budgetMs: 0, examples: [[-1], [-2]] });
    expect(inputs.slice(0, 2)).toEqual([-1, -2]);
    expect(inputs).toHaveLength(12);
    const wrong = fc.property(fc.nat({ max: 1_000_000 }), (value) => value < 100);
    expect(() => assertWithinTime(wrong, BUDGET)).toThrow(/Counterexample: \[100\]/);
  });

  it('goes on with other inputs until the time is over', async () => {
    const inputs = new Set<number>();
    const run = async (value: number): Promise<void> => {
      await sleep(1);
      inputs.add(value);
    };
    await assertWithinTime(fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), run), BUDGET);
    expect(inputs.size).toBeGreaterThan(10);
  });
});
