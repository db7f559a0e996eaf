import { closeAll } from './eventually';

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
