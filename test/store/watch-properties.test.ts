import fc from 'fast-check';
import { type Arena, SLOTS } from '../support/leases/lease-arena';
import { randomSteps } from '../support/leases/lease-commands';
import { LeaseFixture } from '../support/leases/lease-fixture';
import { LeaseModel } from '../support/leases/lease-model';
import type { TestServer } from '../support/leases/lease-server';
import { assertWithinTime } from '../support/timed-property';

describe('after random commands of two servers with watches', () => {
  let on: LeaseFixture;
  let servers: TestServer[];
  beforeAll(async () => {
    on = await LeaseFixture.open({ frozenClock: true });
    servers = [await on.server('s1'), await on.server('s2')];
  });
  afterAll(() => on.close());

  async function newArena(service: 'lock' | 'semaphore'): Promise<Arena> {
    const resource = on.resource(service);
    return {
      resource,
      limit: service === 'semaphore' ? 5 : undefined,
      model: new LeaseModel(),
      slots: Array.from({ length: SLOTS }, () => []),
      stored: await on.stored(resource),
    };
  }

  it('each change that a watch shows is told, and the answers are the same as without watches', async () => {
    await assertWithinTime(
      fc.commands(randomSteps, { maxCommands: 60, size: 'max' }),
      async (steps) => {
        const arenas = [await newArena('lock'), await newArena('semaphore')];
        const world = { fixture: on, servers, arenas, log: [], checksWatches: true };
        await fc.asyncModelRun(() => ({ model: {}, real: world }), steps);
      },
      { runs: 1000, timeLimitMs: 8000 },
    );
  }, 100_000);
});
