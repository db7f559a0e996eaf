import { eventually, eventuallyPasses } from './eventually';

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
