import fc from 'fast-check';
import { type Arena, compare, SLOTS } from '../support/leases/lease-arena';
import { randomSteps } from '../support/leases/lease-commands';
import { allListed, sortedNames } from '../support/leases/lease-views';
import { LeaseFixture } from '../support/leases/lease-fixture';
import { LeaseModel } from '../support/leases/lease-model';
import type { TestServer } from '../support/leases/lease-server';
import { assertWithinTime } from '../support/timed-property';

describe('a list after random commands of two servers', () => {
  let on: LeaseFixture;
  let servers: TestServer[];
  const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 6, unit: 'grapheme' }), {
    minLength: 2,
    maxLength: 2,
  });
  /** All resources of all histories. */
  const arenas: Arena[] = [];
  beforeAll(async () => {
    on = await LeaseFixture.open({ frozenClock: true });
    servers = [await on.server('s1'), await on.server('s2')];
  });
  afterAll(() => on.close());

  async function newArena(service: 'lock' | 'semaphore', suffix: string): Promise<Arena> {
    const resource = { service, name: `${on.resource().name} ${suffix}` };
    return {
      resource,
      limit: service === 'semaphore' ? 5 : undefined,
      model: new LeaseModel(),
      slots: Array.from({ length: SLOTS }, () => []),
      stored: await on.stored(resource),
    };
  }

  /** Ends what is due, in the store and in the model. */
  async function comesToRest(arena: Arena): Promise<void> {
    const server = servers[0] as TestServer;
    const world = { fixture: on, servers, arenas, log: [] };
    await compare(
      world,
      arena,
      server,
      () => server.store.touch(arena.resource, []),
      (model, now) => model.touch(server.id, now, []),
    );
  }

  function isInUse({ resource, model }: Arena): boolean {
    const { limit, holderCount, waiterCount } = model.view(resource.name);
    return resource.service === 'semaphore' ? limit !== undefined : holderCount + waiterCount > 0;
  }

  it('has exactly the names that are in use in a simple model', async () => {
    await assertWithinTime(
      fc.tuple(names, fc.commands(randomSteps, { maxCommands: 40, size: 'max' })),
      async ([[first, second], steps]) => {
        const own = [await newArena('lock', first as string), await newArena('semaphore', second as string)];
        const world = { fixture: on, servers, arenas: own, log: [] };
        await fc.asyncModelRun(() => ({ model: {}, real: world }), steps);
        for (const arena of own) {
          await comesToRest(arena);
          const { service, name } = arena.resource;
          const views = await allListed((servers[1] as TestServer).store, service, { namePrefix: name });
          expect(sortedNames(views)).toEqual(isInUse(arena) ? [name] : []);
          expect(arena.stored).toEqual({
            ...(await on.stored(arena.resource)),
            numbers: arena.stored.numbers,
          });
        }
        arenas.push(...own);
      },
      { runs: 300, timeLimitMs: 10_000 },
    );
    for (const service of ['lock', 'semaphore'] as const) {
      const views = await allListed((servers[0] as TestServer).store, service, { pageSize: 3 });
      const inUse = arenas.filter((arena) => arena.resource.service === service && isInUse(arena));
      expect(sortedNames(views)).toEqual(sortedNames(inUse.map(({ resource }) => resource)));
    }
  }, 100_000);
});
