import fc from 'fast-check';
import { LeaseFixture } from './lease-fixture';
import type { TestServer } from './lease-server';
import { brokenInvariants } from './lease-invariants';
import { LeaseModel } from './lease-model';
import { SLOTS, type Arena, type World } from './lease-arena';
import { randomSteps } from './lease-commands';
import { Requester } from './lease-requester';
import { is } from './reply-kinds';
import { assertWithinTime } from './timed-property';

const HISTORIES = 3000;
const STEPS = 60;
const SEMAPHORE_LIMIT = 5;

/** Compares as many histories as the machine runs within the time limit, so that a slow machine does not fail. */
export function describeLeaseProperties(timeLimitMs: number): void {
  const heads = [
    ['', false],
    [', with room for two leases and two tombstones in the head', true],
  ] as const;
  describe.each(heads)(
    'the store and a simple model, after random commands of two servers%s',
    (_, smallHead) => {
      let on: LeaseFixture;
      let servers: TestServer[];
      /** A server without waiters. For a touch of s1, waiters of s1 are alive, and each would get an offer in turn. */
      let witness: TestServer;
      beforeAll(async () => {
        on = await LeaseFixture.open({ smallHead });
        servers = [await on.server('s1'), await on.server('s2')];
        witness = await on.server('witness');
      });
      afterAll(() => on.close());

      async function newWorld(): Promise<World> {
        const arenas: Arena[] = [];
        for (const service of ['lock', 'semaphore'] as const) {
          const resource = on.resource(service);
          arenas.push({
            resource,
            limit: service === 'semaphore' ? SEMAPHORE_LIMIT : undefined,
            model: new LeaseModel(),
            slots: Array.from({ length: SLOTS }, () => []),
            stored: await on.stored(resource),
          });
        }
        return { fixture: on, servers, arenas, log: [] };
      }

      /** Lets all leases expire. Expects that no data is left and that one request can get all permits. */
      async function comesToRest({ resource }: Arena): Promise<void> {
        if (Object.keys((await on.stored(resource)).numbers).length === 0) return; // No step created the resource.
        const semaphore = resource.service === 'semaphore';
        const limited = { limit: SEMAPHORE_LIMIT, expectedLimit: undefined };
        if (semaphore) await witness.store.setLimit(resource, limited); // Waiters of a paused semaphore never leave the queue.
        for (let minute = 0; minute < 4; minute += 1) {
          await on.passInUse(resource, 61_000);
          // The last step may be a stall, and after a stall no server counts as silent.
          await witness.store.touch(resource, []);
          await on.passInUse(resource, 4000);
          await witness.store.touch(resource, []);
        }
        const rest = await on.stored(resource);
        expect(rest.records).toEqual({});
        expect(brokenInvariants(rest)).toEqual([]);
        const all = new Requester(witness, resource, semaphore ? { permits: SEMAPHORE_LIMIT } : {});
        is('granted', await all.try());
      }

      it('give the same answers, and the store keeps its invariants and leaves no data', async () => {
        await assertWithinTime(
          fc.commands(randomSteps, { maxCommands: STEPS, size: 'max' }),
          async (steps) => {
            const world = await newWorld();
            await fc.asyncModelRun(() => ({ model: {}, real: world }), steps);
            for (const arena of world.arenas) await comesToRest(arena);
          },
          { runs: HISTORIES, timeLimitMs },
        );
      }, 100_000);
    },
  );
}
