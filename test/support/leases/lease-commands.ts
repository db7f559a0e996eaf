import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type { RevokeTarget } from '../../../src/leases/lease-store';
import { brokenTransitions } from './lease-invariants';
import type { LeaseModel } from './lease-model';
import type { TestServer } from './lease-server';
import {
  type Arena,
  ARENAS,
  byCall,
  callOf,
  compare,
  onLimit,
  RandomStep,
  SLOTS,
  type World,
} from './lease-arena';
import { Requester, type RequesterOptions } from './lease-requester';

/** The revocations of random histories. */

const arena = fc.nat(ARENAS - 1);
const slot = fc.nat(SLOTS - 1);
const revoker = fc.nat(1);

/** The token of the request's last grant, which the call may not know. */
const tokenOf = (model: LeaseModel, call: Requester) =>
  BigInt(model.requests.find(({ id }) => id === call.requestId)?.token ?? 1);

const revokeHolders = fc
  .record({
    arena,
    server: revoker,
    slot,
    force: fc.boolean(),
    what: fc.constantFrom('token', 'lease', 'all'),
  })
  .map((drawn) =>
    revokeStep('revoke holders', drawn, ({ model, slots }) => {
      if (drawn.what === 'all') return { kind: 'all-holders' };
      const call = slots[drawn.slot]?.at(-1);
      const fencingToken = call ? tokenOf(model, call) : 1n;
      if (drawn.what === 'token' || !call) return { kind: 'token', fencingToken };
      return { kind: 'lease', requestId: call.requestId, fencingToken };
    }),
  );

const revokeWaiter = fc
  .record({
    arena,
    server: revoker,
    position: fc.integer({ min: 1, max: 4 }),
    shift: fc.integer({ min: 0, max: 2 }),
  })
  .map((drawn) =>
    revokeStep('revoke waiter', { ...drawn, force: false }, ({ model }) => {
      const waiter = model.queue()[drawn.position - 1];
      const position = drawn.position + drawn.shift - 1;
      return {
        kind: 'waiter',
        position: Math.max(1, position),
        enqueueTimeUs: BigInt(waiter?.queuedAt ?? 0),
      };
    }),
  );

/** A revocation of a random lease or waiter, as an operator sees them before the command. */
function revokeStep(
  text: string,
  drawn: { readonly arena: number; readonly server: number; readonly force: boolean },
  targetIn: (at: Arena) => RevokeTarget,
): RandomStep {
  return new RandomStep(`${text} ${JSON.stringify(drawn)}`, drawn.arena, async (at, world) => {
    const by = world.servers[drawn.server] as TestServer;
    const command = { target: targetIn(at), force: drawn.force, after: undefined };
    await compare(
      world,
      at,
      by,
      () => by.store.revoke(at.resource, command),
      (model, now) => model.revoke(by.id, now, command),
    );
  });
}

const SERVERS = 2;
const server = fc.nat(SERVERS - 1);
/** The age of the call: 0 for the newest call of the request, 1 for the previous call, and so on. */
const age = fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(3) });
const ttlMs = fc.constantFrom(100, 1000, 2500, 5000, 30_000);
const identity = fc.constantFrom('', '', 'jwt:issuer#é', 'token:bob');

const acquire = fc
  .record({
    arena,
    slot,
    server,
    fresh: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
    resend: fc.integer({ min: 0, max: 4 }).map((n) => n === 0),
    stream: fc.boolean(),
    session: fc.constantFrom(undefined, undefined, 'a/1.2', 'a/2.1', 'a/10.1', 'a/2.3', 'b/1.1'),
    wait: fc.integer({ min: 0, max: 4 }).map((n) => n > 0),
    permits: fc.integer({ min: 1, max: 6 }),
    brings: fc.integer({ min: 0, max: 4 }).map((n) => n > 0),
    shared: fc.boolean(),
    holderId: fc.constantFrom('', '', '', 'x'),
    identity,
    ttlMs,
    maxWaiters: fc.constantFrom(2, 10_000, 10_000),
  })
  .map((drawn) => {
    const text = `acquire ${JSON.stringify(drawn)}`;
    return new RandomStep(text, drawn.arena, async (at, world) => {
      const calls = at.slots[drawn.slot] as Requester[];
      const known = calls[calls.length - 1];
      let call = known;
      if (!known || !drawn.resend) {
        if (drawn.fresh) calls.length = 0;
        call = new Requester(
          world.servers[drawn.server] as TestServer,
          at.resource,
          optionsOf(drawn, at, calls[0]),
        );
        calls.push(call);
      }
      await acquireBy(world, at, call as Requester, drawn.wait);
    });
  });

function optionsOf(
  drawn: {
    stream: boolean;
    session: string | undefined;
    permits: number;
    brings: boolean;
    shared: boolean;
    holderId: string;
    identity: string;
    ttlMs: number;
    maxWaiters: number;
  },
  at: Arena,
  first: Requester | undefined,
): RequesterOptions {
  const semaphore = at.resource.service === 'semaphore';
  const { session, ttlMs, maxWaiters, holderId, identity } = drawn;
  const stream = drawn.stream || session !== undefined;
  // A repeated request usually has the same fields. Another holder_id represents all mismatches.
  const same = first?.options ?? {
    holderId,
    identity,
    metadata: drawn.shared ? { a: 'é' } : {},
    ...(semaphore ? { permits: drawn.permits, initialLimit: drawn.brings ? at.limit : undefined } : {}),
    ...(!semaphore && drawn.shared ? { mode: 'shared' as const } : {}),
  };
  const mismatch = first !== undefined && drawn.permits === 6 && drawn.holderId === 'x';
  return {
    ...same,
    stream,
    ...(drawn.session === undefined ? {} : { session: drawn.session }),
    ttlMs,
    maxWaiters,
    requestId: first?.clientRequestId ?? randomUUID(),
    ...(mismatch ? { holderId: 'somebody else' } : {}),
  };
}

async function acquireBy(world: World, at: Arena, call: Requester, wait: boolean): Promise<void> {
  const command = {
    ...call.wanted,
    wait,
    takeOver: call.options.stream ?? false,
    maxWaiters: call.options.maxWaiters ?? 10_000,
  };
  await compare(
    world,
    at,
    call.server as TestServer,
    () => (wait ? call.queue() : call.try()),
    (model, now) => model.acquire(call.server.id, now, command),
  );
}

const claim = fc.record({ arena, slot, age }).map((drawn) => {
  let ticket = '0';
  return byCall(
    'claim',
    drawn,
    (call) => {
      ticket = call.ticket; // The reply may have another ticket.
      return call.claim();
    },
    (call, model, now) => model.claim(call.server.id, now, { ...call.wanted, ticket }),
    (call) => call.ticket !== '0',
  );
});

const withdraw = fc
  .record({ arena, slot, age, giveBack: fc.boolean(), names: fc.constantFrom('last token', 'any grant') })
  .map((drawn) => {
    let fencingToken: bigint | undefined;
    return byCall(
      'withdraw',
      drawn,
      (call) => {
        fencingToken = drawn.giveBack && drawn.names === 'last token' ? call.token : undefined;
        return drawn.giveBack ? call.giveBack(fencingToken) : call.withdraw();
      },
      (call, model, now) =>
        model.withdraw(call.server.id, now, { ...call.wanted, giveBack: drawn.giveBack, fencingToken }),
    );
  });

const giveBackUnheard = fc.record({ arena, slot, age }).map((drawn) =>
  byCall(
    'giveBackUnheard',
    drawn,
    (call, { model }) => call.giveBackUnheard(tokenOf(model, call)),
    (call, model, now) => {
      const fencingToken = tokenOf(model, call);
      return model.withdraw(call.server.id, now, {
        ...call.wanted,
        giveBack: true,
        onlyUnheard: true,
        fencingToken,
      });
    },
  ),
);

const touch = fc.record({ arena, server }).map(
  (drawn) =>
    new RandomStep(`touch ${JSON.stringify(drawn)}`, drawn.arena, async (at, world) => {
      const by = world.servers[drawn.server] as TestServer;
      const waiters = at.slots
        .flat()
        .filter((call) => call.server === by)
        .map((call) => call.wanted);
      await compare(
        world,
        at,
        by,
        () => by.store.touch(at.resource, waiters),
        (model, now) => model.touch(by.id, now, waiters),
      );
    }),
);

/** The lease has the secret of the request's first call. */
const secretOf = (at: LeaseModel, call: Requester) =>
  at.requests.find(({ id }) => id === call.requestId)?.secret ?? call.secret;

/** The caller of a renewal or release: the call's own client, or any client that knows the lease id. */
const asks = { asks: fc.constantFrom('itself', 'itself', 'itself', 'any'), foreign: identity };

const renew = fc
  .record({
    arena,
    slot,
    age,
    ttlMs: fc.option(ttlMs, { nil: undefined }),
    by: fc.constantFrom('id', 'id', 'stream', 'open', 'guess'),
    metadata: fc.constantFrom(undefined, undefined, {}, { at: '10.0.0.2' }),
    ...asks,
  })
  .map(
    (drawn) =>
      new RandomStep(`renew ${JSON.stringify(drawn)}`, drawn.arena, async (at, world) => {
        const call = callOf(at, drawn.slot, drawn.age);
        if (!call) return;
        const command = {
          requestId: call.requestId,
          secret: drawn.by === 'guess' ? 'guess' : secretOf(at.model, call),
          identity: drawn.asks === 'itself' ? call.identity : drawn.foreign,
          ttlMs: drawn.by === 'stream' ? undefined : drawn.ttlMs,
          metadata: drawn.by === 'stream' ? undefined : drawn.metadata,
          stream:
            drawn.by === 'stream' || drawn.by === 'open'
              ? { attach: call.attach, takeOver: drawn.by === 'open' }
              : undefined,
        };
        const by = call.server as TestServer;
        await compare(
          world,
          at,
          by,
          () => by.store.renew(at.resource, command),
          (model, now) => model.renew(by.id, now, command),
        );
      }),
  );

const releasedBy = fc.constantFrom('id', 'id', 'id', 'lost', 'guess');
const release = fc.record({ arena, slot, age, by: releasedBy, ...asks }).map(
  (drawn) =>
    new RandomStep(`release ${JSON.stringify(drawn)}`, drawn.arena, async (at, world) => {
      const call = callOf(at, drawn.slot, drawn.age);
      if (!call) return;
      const command = {
        requestId: call.requestId,
        secret: drawn.by === 'guess' ? 'guess' : secretOf(at.model, call),
        identity: drawn.asks === 'itself' ? call.identity : drawn.foreign,
        afterLoss: drawn.by === 'lost' ? { attach: call.attach } : undefined,
      };
      const by = call.server as TestServer;
      await compare(
        world,
        at,
        by,
        () => by.store.release(at.resource, command),
        (model, now) => model.release(by.id, now, command),
      );
    }),
);

const pass = fc.record({ arena, ms: fc.constantFrom(50, 1000, 2600, 2600, 3100, 4100, 10_100, 61_000) }).map(
  (drawn) =>
    new RandomStep(`pass ${drawn.ms} ms`, drawn.arena, async (at, world) => {
      await world.fixture.pass(at.resource, drawn.ms);
      at.model.shift(drawn.ms * 1000);
      const before = at.stored;
      at.stored = await world.fixture.stored(at.resource);
      expect(brokenTransitions(before, at.stored, drawn.ms * 1000)).toEqual([]);
    }),
);

const limit = fc.nat(6);

/** A pause and its end, more often than each single limit. */
const wish = fc.oneof(limit, fc.constantFrom('pause' as const, 'resume' as const));

const setLimit = fc
  .record({ arena, server, limit: wish, expectedLimit: fc.option(limit, { nil: undefined, freq: 3 }) })
  .map((drawn) =>
    onLimit(
      'set limit',
      drawn,
      (by, resource) => by.store.setLimit(resource, drawn),
      (by, { model, resource }, now) => model.setLimit(by.id, now, resource.name, drawn),
    ),
  );

const remove = fc.record({ arena, server, force: fc.boolean() }).map((drawn) =>
  onLimit(
    'delete',
    drawn,
    (by, resource) => by.store.remove(resource, drawn),
    (by, { model }, now) => model.remove(by.id, now, drawn),
  ),
);

/** The steps of random histories. Steps that lead to more states appear several times. */
export const randomSteps: fc.Arbitrary<fc.AsyncCommand<object, World>>[] = [
  acquire,
  acquire,
  acquire,
  claim,
  withdraw,
  giveBackUnheard,
  touch,
  renew,
  release,
  release,
  setLimit,
  remove,
  revokeHolders,
  revokeWaiter,
  pass,
];
