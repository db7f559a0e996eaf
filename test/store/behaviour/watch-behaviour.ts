import { eventually } from '../../support/eventually';
import { is } from '../../support/reply-kinds';
import type { BehaviourFixture } from './behaviour-fixture';

const WAIT = { timeoutMs: 60_000 };

export function watchBehaviour(opened: () => BehaviourFixture): void {
  it('tells a server with watches of each change by another server, from the first acquire of the name on', async () => {
    const fixture = opened();
    const { one, other } = fixture;
    await fixture.everywhere('lock', async (lock) => {
      const told = (count: number) =>
        eventually('a hint', () => other.changed.filter((name) => name === lock.name).length >= count, WAIT);
      expect((await other.permits.watch(lock)).view).toMatchObject({ holderCount: 0, waiterCount: 0 });
      const holder = fixture.request(one, lock, { holderId: 'alice' });
      is('granted', await holder.try());
      await told(1);
      expect((await other.permits.watch(lock)).view).toMatchObject({ holders: [{ holderId: 'alice' }] });
      is('released', await holder.release(holder.secret));
      await told(2);
      expect((await other.permits.watch(lock)).view).toMatchObject({ holderCount: 0, waiterCount: 0 });
    });
  });

  it('tells a server with watches of its own changes by the replies', async () => {
    const fixture = opened();
    const { one } = fixture;
    await fixture.everywhere('lock', async (lock) => {
      await one.permits.watch(lock);
      is('granted', await fixture.request(one, lock).try());
      expect(one.changed).toContain(lock.name);
    });
  });

  it('tells a server with watches of the deletion of a semaphore', async () => {
    const fixture = opened();
    const { one, other } = fixture;
    await fixture.everywhere('semaphore', async (semaphore) => {
      expect((await other.permits.watch(semaphore)).view.limit).toBeUndefined();
      is('set', await one.permits.setLimit(semaphore, { limit: 3, expectedLimit: undefined }));
      expect((await other.permits.watch(semaphore)).view.limit).toBe(3);
      is('removed', await one.permits.remove(semaphore, { force: false }));
      await eventually('a hint', () => other.changed.includes(semaphore.name), WAIT);
      expect((await other.permits.watch(semaphore)).view.limit).toBeUndefined();
    });
  });
}
