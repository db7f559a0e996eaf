import { noSuchDictionary, stateAfterChange } from '../../../src/autocomplete/autocomplete-errors';
import { storeOverloaded, storeUnavailable } from '../../../src/base/store-state';

describe('the state of a dictionary after a change', () => {
  it('is the state that was read', async () => {
    expect(await stateAfterChange(Promise.resolve('state'), 'dictionary "a"')).toBe('state');
  });

  it.each([
    ['the store is overloaded', storeOverloaded('dictionary "a"')],
    ['the store does not answer', storeUnavailable('dictionary "a"')],
  ])('is unknown if %s, because the change was made', async (_, error) => {
    const state = stateAfterChange(Promise.reject(error), 'dictionary "a"', 'import again');
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
