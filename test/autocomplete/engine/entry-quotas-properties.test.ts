import fc from 'fast-check';
import { EntryQuotas } from '../../../src/autocomplete/quota/quotas';
import { OwnedDictionaries } from '../../../src/autocomplete/quota/usage';
import { HoldfastError } from '../../../src/base/errors';
import { ManualClock } from '../../support/manual-clock';
import { fourByteEntries, ModelOwnership } from '../../support/autocomplete/model-entry-store';
import { assertWithinTime } from '../../support/timed-property';

/** Random writes of three identities on one server, one after another, against sums without a cache. */

const LIMIT = 12;
const IDENTITIES = ['token:a', 'token:b', 'token:c'];
const NAMES = ['one', 'two', 'three', 'four'];

type Act =
  | { readonly kind: 'create'; readonly name: string; readonly by: string }
  | { readonly kind: 'drop'; readonly name: string }
  | { readonly kind: 'put' | 'import'; readonly name: string; readonly by: string; readonly count: number }
  | { readonly kind: 'wait'; readonly ms: number };

const name = fc.constantFrom(...NAMES);
const by = fc.constantFrom(...IDENTITIES);
const count = fc.integer({ min: 1, max: LIMIT + 1 });
const acts = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('create' as const), name, by }),
    fc.record({ kind: fc.constant('drop' as const), name }),
    fc.record({ kind: fc.constantFrom('put' as const, 'import' as const), name, by, count }),
    fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 6000 }) }),
  ),
  { maxLength: 40 },
);

class World {
  readonly store = new ModelOwnership();
  readonly clock = new ManualClock();
  readonly quotas = new EntryQuotas(this.store, new OwnedDictionaries(this.store), this.clock);

  async carryOut(act: Act): Promise<void> {
    const { store, quotas } = this;
    if (act.kind === 'wait') return this.clock.advance(act.ms);
    if (act.kind === 'create') return store.create(act.name, act.by);
    if (act.kind === 'drop') {
      store.dictionaries.delete(act.name);
      return quotas.forget(act.name);
    }
    const entries = fourByteEntries(act.count);
    const writer = { identity: act.by, quotas: { entries: LIMIT } };
    const expected = this.fits(act.name, act.by, act.count, act.kind === 'import');
    const isDone = await this.isAllowed(async () => {
      if (act.kind === 'put') {
        return quotas.put(act.name, writer, entries, () => Promise.resolve(store.put(act.name, entries)));
      }
      const quota = await quotas.startImport(act.name, writer);
      await quota?.add(entries);
      return quota?.commit(() => Promise.resolve(store.replace(act.name, act.by, entries)));
    });
    expect({ act, isDone }).toEqual({ act, isDone: expected });
  }

  private fits(dictionary: string, caller: string, added: number, isImport: boolean): boolean {
    const owner = this.store.dictionaries.get(dictionary)?.owner ?? caller;
    const owners = new Set([caller, owner]);
    const sums = [...owners].map((one) => this.store.total(one, isImport ? dictionary : undefined).entries);
    return sums.reduce((sum, one) => sum + one, added) <= LIMIT;
  }

  private async isAllowed(write: () => Promise<unknown>): Promise<boolean> {
    let answer: boolean | undefined;
    const work = write().then(
      () => (answer = true),
      (error: unknown) => {
        if (!(error instanceof HoldfastError && error.reason === 'QUOTA_EXCEEDED')) throw error;
        answer = false;
      },
    );
    while (answer === undefined) await Promise.race([work, this.clock.advance(100)]);
    return answer;
  }
}

test('a write is made if it fits by the sums in the store, and no owner ever has more than the quota', async () => {
  await assertWithinTime(
    fc.asyncProperty(acts, async (given) => {
      const world = new World();
      for (const act of given) {
        await world.carryOut(act);
        for (const identity of IDENTITIES)
          expect(world.store.total(identity).entries).toBeLessThanOrEqual(LIMIT);
      }
    }),
  );
});
