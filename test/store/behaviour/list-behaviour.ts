import type { Resource } from '../../../src/leases/lease';
import { allListed, sortedNames } from '../../support/leases/lease-views';
import { is } from '../../support/reply-kinds';
import type { BehaviourFixture } from './behaviour-fixture';

const COUNT = 60;

export function listBehaviour(opened: () => BehaviourFixture): void {
  it('lists the locks of all buckets that have a holder or a waiter, at every server', async () => {
    const fixture = opened();
    const { one, other } = fixture;
    const prefix = fixture.name();
    const locks = Array.from(
      { length: COUNT },
      (_, i) => ({ service: 'lock', name: `${prefix}/${i}` }) as const,
    );
    const holders = locks.map((lock, i) =>
      fixture.request(i % 2 === 0 ? one : other, lock, { holderId: `h${i}` }),
    );
    await Promise.all(holders.map(async (holder) => is('granted', await holder.try())));
    const free = holders.slice(0, 10);
    await Promise.all(free.map(async (holder) => is('released', await holder.release(holder.secret))));
    const waiter = fixture.request(one, locks[20] as Resource);
    is('waiting', await waiter.queue());
    for (const { permits } of [one, other]) {
      const views = await allListed(permits, 'lock', { namePrefix: `${prefix}/`, pageSize: 7 });
      expect(sortedNames(views)).toEqual(sortedNames(locks.slice(10)));
      expect(views.find(({ name }) => name === locks[20]?.name)).toMatchObject({
        holderCount: 1,
        waiterCount: 1,
      });
      const first = await allListed(permits, 'lock', { namePrefix: `${prefix}/`, holderId: 'h33' });
      expect(first).toMatchObject([{ name: `${prefix}/33`, holders: [{ holderId: 'h33' }] }]);
    }
    const byWaiters = { namePrefix: `${prefix}/`, order: 'waiter-count', pageSize: 3 } as const;
    const [most] = await allListed(one.permits, 'lock', byWaiters);
    expect(most).toMatchObject({ name: locks[20]?.name, waiterCount: 1 });
  });

  it('lists all semaphores until they are deleted, in use or not', async () => {
    const fixture = opened();
    const { one, other } = fixture;
    const prefix = fixture.name();
    const semaphores = Array.from(
      { length: COUNT },
      (_, i) => ({ service: 'semaphore', name: `${prefix}/${i}` }) as const,
    );
    await Promise.all(
      semaphores.map(async (semaphore) => {
        is('set', await one.permits.setLimit(semaphore, { limit: 3, expectedLimit: undefined }));
      }),
    );
    const listed = () => allListed(other.permits, 'semaphore', { namePrefix: `${prefix}/` });
    const views = await listed();
    expect(sortedNames(views)).toEqual(sortedNames(semaphores));
    expect(new Set(views.map(({ limit }) => limit))).toEqual(new Set([3]));
    await Promise.all(
      semaphores.slice(0, 30).map(async (semaphore) => {
        is('removed', await other.permits.remove(semaphore, { force: false }));
      }),
    );
    expect(sortedNames(await listed())).toEqual(sortedNames(semaphores.slice(30)));
  });
}
