import fc from 'fast-check';
import type { Resource } from '../../../src/leases/lease';
import { type Arena, compare, SEMAPHORE_LIMIT, SLOTS, type World } from '../../support/leases/lease-arena';
import { randomSteps } from '../../support/leases/lease-commands';
import { LeaseFixture } from '../../support/leases/lease-fixture';
import { brokenInvariants, brokenTransitions } from '../../support/leases/lease-invariants';
import { LeaseModel } from '../../support/leases/lease-model';
import { Requester } from '../../support/leases/lease-requester';
import type { TestServer } from '../../support/leases/lease-server';
import type { Stored } from '../../support/leases/lease-stored';
import { allListed, sortedNames } from '../../support/leases/lease-views';
import { is } from '../../support/reply-kinds';
import { assertWithinTime, HISTORIES } from '../../support/timed-property';

const STEPS = 60;

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
        fc.asyncProperty(fc.commands(randomSteps, { maxCommands: STEPS, size: 'max' }), async (steps) => {
          const world = await newWorld();
          await fc.asyncModelRun(() => ({ model: {}, real: world }), steps);
          for (const arena of world.arenas) await comesToRest(arena);
        }),
        { weight: HISTORIES },
      );
    }, 100_000);
  },
);

const REQUESTS = 10;
const ROUNDS = 6;
const LIMIT = 5;

const verbs = [
  'try',
  'queue',
  'claim',
  'withdraw',
  'giveBack',
  'touch',
  'renew',
  'keepAlive',
  'release',
] as const;

/** An action of one request in a round. A round has at most one action of each request. */
const action = fc.record({
  request: fc.nat(REQUESTS - 1),
  verb: fc.constantFrom(...verbs, 'queue', 'queue', 'release', 'release'),
  isRetry: fc.boolean(),
});
const round = fc.uniqueArray(action, {
  selector: ({ request }) => request,
  minLength: 2,
  maxLength: REQUESTS,
});

/** Two servers send commands at the same time. Only facts that hold in any order of these commands are checked. */
describe('racing commands', () => {
  let on: LeaseFixture;
  let servers: TestServer[];
  beforeAll(async () => {
    on = await LeaseFixture.open();
    servers = [await on.server('s1'), await on.server('s2')];
  });
  afterAll(() => on.close());

  const serverOf = (index: number) => servers[index % servers.length] as TestServer;

  function newRequest(resource: Resource, index: number, requestId?: string): Requester {
    const semaphore = resource.service === 'semaphore';
    return new Requester(serverOf(requestId === undefined ? index : index + 1), resource, {
      stream: index % 3 === 0,
      ttlMs: 20_000,
      ...(semaphore ? { permits: 1 + (index % LIMIT), initialLimit: LIMIT } : {}),
      ...(requestId === undefined ? {} : { requestId }),
    });
  }

  /** `secret` is the secret of the call that made the request. */
  function perform(
    requester: Requester,
    verb: (typeof verbs)[number],
    secret: string,
  ): Promise<{ kind?: string }> {
    switch (verb) {
      case 'renew':
      case 'keepAlive':
      case 'release':
        return requester[verb](secret);
      case 'touch':
        return requester.touch().then(() => ({}));
      default:
        return requester[verb]();
    }
  }

  /** Keeps only the waiters that waited during the whole round, because only these could be overtaken. */
  function stayed(before: Stored, after: Stored): Stored {
    const queue = after.sets.queue.filter(({ id }) => before.sets.queue.some((member) => member.id === id));
    return { ...after, sets: { ...after.sets, queue } };
  }

  it.each(['lock', 'semaphore'] as const)(
    'keep the invariants of a %s, and leave it free after all requests have ended (chapter 25)',
    async (service) => {
      await assertWithinTime(
        fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: ROUNDS }), async (rounds) => {
          const resource = on.resource(service);
          const calls = Array.from({ length: REQUESTS }, (_, index) => newRequest(resource, index));
          const secrets = calls.map(({ secret }) => secret);
          let stored = await on.stored(resource);
          for (const actions of rounds) {
            await Promise.all(
              actions.map(({ request, verb, isRetry }) => {
                const known = calls[request] as Requester;
                const isAcquire = verb === 'try' || verb === 'queue';
                // A retry after a lost reply goes to the other server.
                if (isRetry && isAcquire) calls[request] = newRequest(resource, request, known.requestId);
                return perform(calls[request] as Requester, verb, secrets[request] as string);
              }),
            );
            const before = stored;
            stored = await on.stored(resource);
            for (const [index, call] of calls.entries())
              secrets[index] = stored.records[call.requestId]?.secret ?? call.secret;
            expect(brokenInvariants(stored)).toEqual([]);
            expect(brokenTransitions(before, stayed(before, stored), 0)).toEqual([]);
          }
          for (const [index, call] of calls.entries()) await call.release(secrets[index] as string);
          for (const call of calls) await call.giveBack();
          for (const [index, call] of calls.entries()) await call.release(secrets[index] as string);
          const [offered] = (await on.stored(resource)).sets.offers;
          expect(offered).toBeUndefined();
          const all = new Requester(
            serverOf(0),
            resource,
            service === 'lock' ? {} : { permits: LIMIT, initialLimit: LIMIT },
          );
          is('granted', await all.try());
        }),
        { weight: HISTORIES },
      );
    },
  );
});

let on: LeaseFixture;
let servers: TestServer[];
beforeAll(async () => {
  on = await LeaseFixture.open({ frozenClock: true });
  servers = [await on.server('s1'), await on.server('s2')];
});
afterAll(() => on.close());

describe('a list after random commands of two servers', () => {
  const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 6, unit: 'grapheme' }), {
    minLength: 2,
    maxLength: 2,
  });
  /** All resources of all histories. */
  const arenas: Arena[] = [];
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
      fc.asyncProperty(
        fc.tuple(names, fc.commands(randomSteps, { maxCommands: 40, size: 'max' })),
        async ([[first, second], steps]) => {
          const own = [
            await newArena('lock', first as string),
            await newArena('semaphore', second as string),
          ];
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
      ),
      // Each history reads the names of all buckets twice.
      { weight: HISTORIES / 2 },
    );
    for (const service of ['lock', 'semaphore'] as const) {
      const views = await allListed((servers[0] as TestServer).store, service, { pageSize: 3 });
      const inUse = arenas.filter((arena) => arena.resource.service === service && isInUse(arena));
      expect(sortedNames(views)).toEqual(sortedNames(inUse.map(({ resource }) => resource)));
    }
  }, 100_000);
});

describe('after random commands of two servers with watches', () => {
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
      fc.asyncProperty(fc.commands(randomSteps, { maxCommands: 60, size: 'max' }), async (steps) => {
        const arenas = [await newArena('lock'), await newArena('semaphore')];
        const world = { fixture: on, servers, arenas, log: [], checksWatches: true };
        await fc.asyncModelRun(() => ({ model: {}, real: world }), steps);
      }),
      { weight: HISTORIES },
    );
  }, 100_000);
});
