import { noSuchDictionary, readOf, stateAfterChange } from '../../../src/autocomplete/autocomplete-errors';
import { StoreFailure } from '../../../src/base/errors';

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
