import fc from 'fast-check';
import { LOCK_LIMIT } from '../../../src/leases/lease';
import type { LeaseToRenew, Renewed, RenewReply } from '../../../src/leases/lease-store';
import { BucketCopy } from '../../support/leases/bucket-copy';
import { type Arena, compare, type World, worldOfOneBucket } from '../../support/leases/lease-arena';
import { randomSteps } from '../../support/leases/lease-commands';
import { LeaseFixture } from '../../support/leases/lease-fixture';
import { brokenInvariants } from '../../support/leases/lease-invariants';
import type { Requester } from '../../support/leases/lease-requester';
import { is } from '../../support/reply-kinds';
import { assertWithinTime, HISTORIES } from '../../support/timed-property';

const heads = [
  ['', false],
  [', with room for two leases and two tombstones in the head', true],
] as const;

/** The clock of the scripts stands still, so common and single renewals run at the same time. */
describe.each(heads)('a common renewal, after random commands of two servers%s', (_, smallHead) => {
  let on: LeaseFixture;
  beforeAll(async () => {
    on = await LeaseFixture.open({ frozenClock: true, smallHead });
  });
  afterAll(() => on.close());

  /** A stream with a lease in the bucket of the world. */
  async function heldBeside({ arenas }: World): Promise<Requester> {
    const [{ resource }] = arenas as [Arena];
    const call = await on.request('s1', on.resourceBeside(resource), { stream: true });
    is('granted', await call.queue());
    return call;
  }

  /** New streams take the places of some requests in the history. They get leases with a long ttl if there is room. */
  async function arrive(world: World, count: number): Promise<void> {
    for (const arena of world.arenas) {
      const { resource, slots, limit: initialLimit = LOCK_LIMIT } = arena;
      const options = { stream: true, mode: 'shared', initialLimit, ttlMs: 120_000 } as const;
      for (const [slot, call] of (await on.requests(count, 's1', resource, options)).entries()) {
        slots[slot]?.splice(0, Infinity, call);
        const command = { ...call.wanted, wait: false, takeOver: true, maxWaiters: 10_000 };
        const server = await on.server('s1');
        await compare(
          world,
          arena,
          server,
          () => call.try(),
          (model, now) => model.acquire(server.id, now, command),
        );
      }
    }
  }

  /** The latest calls of all requests, each as the stream of a lease. The caller may have a wrong secret or identity. */
  function leasesIn({ arenas }: World, { guesses, age }: { guesses: number; age: number }): LeaseToRenew[] {
    return arenas.flatMap(({ slots, model }) =>
      slots.flatMap((calls, slot) => {
        const call = calls.at(-1 - age) ?? calls.at(-1);
        if (!call) return [];
        const secret = model.requests.find(({ id }) => id === call.requestId)?.secret;
        const lease = call.toRenew(guesses % 7 === slot ? 'guess' : secret);
        return [guesses % 5 === slot ? { ...lease, identity: 'token:mallory' } : lease];
      }),
    );
  }

  async function renewAlone(lease: LeaseToRenew): Promise<RenewReply> {
    const { resource, requestId, secret, identity, attach } = lease;
    const stream = { attach, takeOver: false };
    const { store } = await on.server('s1');
    return store.renew(resource, { requestId, secret, identity, ttlMs: undefined, stream });
  }

  /** The part of a reply that a common renewal answers. */
  const endOf = ({ remainingMs, ttlMs }: Renewed) => ({ remainingMs, ttlMs });
  const answered = (reply: RenewReply) => (reply.kind === 'granted' ? endOf(reply) : reply);

  it('with single renewals of the leases that it does not change, does what single renewals of all leases do', async () => {
    const drawn = {
      before: fc.commands(randomSteps, { maxCommands: 10, size: 'max' }),
      newCount: fc.nat(3),
      after: fc.commands(randomSteps, { maxCommands: 10, size: 'max' }),
      passedMs: fc.constantFrom(0, 2600, 4100, 10_100, 61_000),
      guesses: fc.nat(34),
      age: fc.constantFrom(0, 0, 0, 1),
    };
    await assertWithinTime(
      fc.asyncProperty(fc.record(drawn), async ({ before, newCount, after, passedMs, ...choice }) => {
        const world = await worldOfOneBucket(on);
        const setup = () => ({ model: {}, real: world });
        await fc.asyncModelRun(setup, before);
        await arrive(world, newCount);
        await fc.asyncModelRun(setup, after);
        for (const { resource } of world.arenas) await on.pass(resource, passedMs);
        const [first, last] = [await heldBeside(world), await heldBeside(world)];
        const leases = [first.toRenew(), ...leasesIn(world, choice), last.toRenew()];
        const { store } = await on.server('s1');
        const copy = await BucketCopy.of(on, first.resource.name);

        const replies = await store.renewMany(leases, {});
        const afterCommon = await copy.read();
        expect(replies[0]).toBeDefined();
        expect(replies.at(-1)).toBeDefined();
        const both: unknown[] = [];
        for (const [n, reply] of replies.entries())
          both.push(reply ? endOf(reply) : answered(await renewAlone(leases[n] as LeaseToRenew)));
        const afterBoth = await copy.read();

        await copy.restore();
        for (const [n, lease] of leases.entries()) if (replies[n]) is('granted', await renewAlone(lease));
        expect(await copy.read()).toEqual(afterCommon);

        await copy.restore();
        const single: unknown[] = [];
        for (const lease of leases) single.push(answered(await renewAlone(lease)));
        expect(both).toEqual(single);
        expect(await copy.read()).toEqual(afterBoth);
        for (const { resource } of world.arenas)
          expect(brokenInvariants(await on.stored(resource))).toEqual([]);
      }),
      { weight: HISTORIES },
    );
  }, 100_000);
});
