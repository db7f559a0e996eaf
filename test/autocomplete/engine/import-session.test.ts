import type { EntryStore } from '../../../src/autocomplete/entry-store';
import { StoreImport } from '../../../src/autocomplete/import-session';
import { StoreFailure } from '../../../src/base/errors';
import { ManualClock, settled } from '../../support/manual-clock';

/** An import whose commit ends like this, and the commands that it sends to the store. */
function importWith(commit: () => Promise<unknown>) {
  const sent: string[] = [];
  const store = {
    putImported: () => Promise.resolve({ kind: 'ok' }),
    commitImport: () => {
      sent.push('commit');
      return commit();
    },
    abandonImport: () => {
      sent.push('abandon');
      return Promise.resolve();
    },
  } as unknown as EntryStore;
  const clock = new ManualClock();
  const one = new StoreImport({
    store,
    indexes: { load: () => Promise.resolve() },
    clock,
    name: 'towns',
    importId: 'import',
    owner: '',
    quota: undefined,
    view: () => Promise.reject(new Error('not asked here')),
    sweepSoon: () => sent.push('sweep'),
    onDefect: (error) => {
      throw error;
    },
  });
  return { one, sent, clock };
}

describe('an import with a failed commit', () => {
  it.each([
    ['the store has done nothing', 'no', 'STORE_UNAVAILABLE'],
    ['the outcome is unknown', 'unknown', 'OUTCOME_UNKNOWN'],
  ] as const)(
    'is abandoned if %s, because the import would otherwise take memory for a minute',
    async (_, carriedOut, reason) => {
      const { one, sent, clock } = importWith(() =>
        Promise.reject(new StoreFailure(carriedOut, 'unavailable')),
      );
      await expect(one.commit(0)).rejects.toMatchObject({ reason });
      await settled();
      expect(sent).toEqual(['commit', 'abandon', 'sweep']);
      expect(clock.timerCount).toBe(0);
    },
  );
});
