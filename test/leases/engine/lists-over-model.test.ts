import fc from 'fast-check';
import type { ListRequest, ResourcePage } from '../../../src/leases/lease-requests';
import { EngineFixture } from '../../support/leases/engine-fixture';
import { acquireRequest, FakeCall } from '../../support/fake-call';
import { ManualClock, settled } from '../../support/manual-clock';
import { ModelWorld, type ModelStore } from '../../support/leases/model-store';

const namesOf = ({ resources }: ResourcePage) => resources.map(({ name }) => name);

function list(on: EngineFixture<ModelStore>, values: Partial<ListRequest>): Promise<ResourcePage> {
  const all = { namePrefix: '', holderId: '', identity: '' };
  const request = { ...all, pageSize: 50, pageToken: '', order: 'fixed' as const };
  return on.permits.list(new FakeCall(on.clock), 'lock', { ...request, ...values });
}

/** The locks are free, held, or held with waiters. */
describe('the pages of a list over a model of the store', () => {
  const name = fc.oneof(
    fc.string({ minLength: 1, maxLength: 4, unit: 'grapheme' }),
    fc.constantFrom('a', 'aa', 'ab', 'b'),
  );
  const names = fc.dictionary(name, fc.nat(4), { minKeys: 0, maxKeys: 30, noNullPrototype: true });

  async function allPages(on: EngineFixture<ModelStore>, values: Partial<ListRequest>): Promise<string[]> {
    const found: string[] = [];
    let pageToken = '';
    do {
      const page = await list(on, { ...values, pageToken });
      found.push(...namesOf(page));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    return found;
  }

  it('have each name in use once, and in the order of waiter counts the names with the most waiters first', async () => {
    await fc.assert(
      fc.asyncProperty(
        names,
        fc.integer({ min: 1, max: 7 }),
        fc.constantFrom('', 'a'),
        async (users, pageSize, namePrefix) => {
          const clock = new ManualClock(1_000_000);
          const world = new ModelWorld(clock);
          const on = new EngineFixture(clock, world.store('s1'));
          for (const [lock, count] of Object.entries(users)) {
            for (let i = 0; i < count; i += 1) {
              const call = new FakeCall(clock);
              void on.permits
                .acquire(call, 'lock', acquireRequest({ name: lock, requestId: on.identities.requestId() }))
                .catch(() => undefined);
            }
          }
          await settled();
          const wanted = Object.entries(users).filter(
            ([lock, count]) => count > 0 && lock.startsWith(namePrefix),
          );
          const found = await allPages(on, { namePrefix, pageSize });
          expect([...found].sort()).toEqual(wanted.map(([lock]) => lock).sort());
          const top = await list(on, { namePrefix, pageSize, order: 'waiter-count' });
          const counts = top.resources.map(({ waiterCount }) => waiterCount);
          const expected = wanted.map(([, count]) => count - 1).sort((a, b) => b - a);
          expect(counts).toEqual(expected.slice(0, pageSize));
        },
      ),
      { numRuns: 100 },
    );
  });
});
