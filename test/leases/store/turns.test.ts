import fc from 'fast-check';
import type { LeaseStore } from '../../../src/leases/lease-store';
import type { BatchedOperation } from '../../../src/redis/batch';
import { CommandWriter } from '../../../src/redis/writer';
import { BucketCopy } from '../../support/leases/bucket-copy';
import { SLOTS, worldOfOneBucket } from '../../support/leases/lease-arena';
import { randomSteps } from '../../support/leases/lease-commands';
import { LeaseFixture } from '../../support/leases/lease-fixture';
import type { Requester } from '../../support/leases/lease-requester';
import { assertWithinTime, HISTORIES } from '../../support/timed-property';

/** An operation with the arguments that its caller knows before the turn. */
type Asked = (store: LeaseStore) => Promise<unknown>;

const VERBS: Readonly<Record<string, (call: Requester, ticket: string) => Asked>> = {
  acquire: (call) => (store) =>
    store.acquire(call.resource, call.wanted, { wait: false, takeOver: false, maxWaiters: 100 }),
  queue: (call) => (store) =>
    store.acquire(call.resource, call.wanted, { wait: true, takeOver: false, maxWaiters: 100 }),
  claim: (call, ticket) => (store) => store.claim(call.resource, call.wanted, ticket),
  withdraw: (call) => (store) => store.withdraw(call.resource, { ...call, giveBack: false }),
  giveBack: (call) => (store) => store.withdraw(call.resource, { ...call, giveBack: true }),
  renew: (call) => (store) =>
    store.renew(call.resource, { ...call, secret: call.secret, ttlMs: 40_000, stream: undefined }),
  release: (call) => (store) =>
    store.release(call.resource, { ...call, secret: call.secret, afterLoss: undefined }),
  touch: (call) => (store) => store.touch(call.resource, [call]),
  limit:
    ({ resource }) =>
    (store) =>
      store.setLimit(resource, { limit: 3, expectedLimit: undefined }),
};

/** The clock of the scripts stands still, so both histories happen at the same time. */
describe('operations that are asked for in one turn, after random commands of two servers', () => {
  let on: LeaseFixture;
  let mostTogether = 0;
  beforeAll(async () => {
    on = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => on.close());

  const readable = (answers: readonly PromiseSettledResult<unknown>[]) =>
    answers.map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason)));
  /** The times of this process and of Redis's own clock. */
  const withoutTimes = (answers: readonly unknown[]) =>
    answers.map((one) => (typeof one === 'object' ? { ...one, sentAt: 0, redisTimeMs: 0 } : one));

  it('give the answers and leave the data of the same operations one after another', async () => {
    const spy = jest.spyOn(CommandWriter.prototype as unknown as { sendGroup: Spied }, 'sendGroup');
    const drawn = {
      before: fc.commands(randomSteps, { maxCommands: 12, size: 'max' }),
      turn: fc.array(
        fc.record({
          verb: fc.constantFrom(...Object.keys(VERBS)),
          arena: fc.nat(1),
          slot: fc.nat(SLOTS - 1),
        }),
        { minLength: 2, maxLength: 16 },
      ),
    };
    await assertWithinTime(
      fc.asyncProperty(fc.record(drawn), async ({ before, turn }) => {
        const world = await worldOfOneBucket(on);
        await fc.asyncModelRun(() => ({ model: {}, real: world }), before);
        const { store } = await on.server('s1');
        const fresh = await Promise.all(
          world.arenas.map(({ resource }) => on.requests(SLOTS, 's1', resource, { initialLimit: 4 })),
        );
        const asked = turn.map(({ verb, arena, slot }) => {
          const call = world.arenas[arena]?.slots[slot]?.at(-1) ?? fresh[arena]?.[slot];
          if (call === undefined) throw new Error('there is no such request');
          return (VERBS[verb] as (typeof VERBS)[string])(call, call.ticket);
        });
        const copy = await BucketCopy.of(on, world.arenas[0]?.resource.name ?? '');

        spy.mockClear();
        const together = await Promise.allSettled(asked.map((one) => one(store)));
        const sizes = spy.mock.calls.map(([, group]) => group.length);
        mostTogether = Math.max(mostTogether, ...sizes);
        const after = await copy.read();

        await copy.restore();
        const single: PromiseSettledResult<unknown>[] = [];
        for (const one of asked) single.push(...(await Promise.allSettled([one(store)])));
        expect(withoutTimes(readable(together))).toEqual(withoutTimes(readable(single)));
        expect(after).toEqual(await copy.read());
      }),
      { weight: HISTORIES },
    );
    spy.mockRestore();
    expect(mostTogether).toBeGreaterThan(2);
  }, 100_000);
});

type Spied = (stream: unknown, group: readonly BatchedOperation[]) => void;
