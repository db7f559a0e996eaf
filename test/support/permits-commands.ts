import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type { Resource } from '../../src/engine/leases/lease';
import type { PermitsFixture, Stored, TestServer } from './permits-fixture';
import { brokenInvariants, brokenTransitions } from './permits-invariants';
import type { PermitsModel } from './permits-model';
import { Requester, type RequesterOptions } from './permits-requester';

/** One name with what is compared: the real one and what the model makes of it. */
export interface Arena {
  readonly resource: Resource;
  readonly limit: number | undefined;
  readonly model: PermitsModel;
  /** Requests by slot; each has the calls that were made for it, the newest last. */
  readonly slots: Requester[][];
  stored: Stored;
}

export interface World {
  readonly fixture: PermitsFixture;
  readonly servers: readonly TestServer[];
  readonly arenas: readonly Arena[];
  /** What happened, for the report of a failure. */
  readonly log: string[];
}

export const SLOTS = 5;
export const ARENAS = 2;
const SERVERS = 2;

type Reply = object;
type Step = (arena: Arena, world: World) => Promise<void>;

/** One step of a random history, which fast-check shrinks with the others. */
class RandomStep implements fc.AsyncCommand<object, World> {
  constructor(
    private readonly text: string,
    private readonly arena: number,
    private readonly step: Step,
  ) {}

  check(): boolean {
    return true;
  }

  async run(_model: object, world: World): Promise<void> {
    await this.step(world.arenas[this.arena] as Arena, world);
  }

  toString(): string {
    return `${this.text} on ${this.arena}`;
  }
}

const withoutSendTime = (reply: Reply) => ({ ...reply, sentAt: undefined });

/** Sends a command, has the model answer it at the same moment of Redis's clock, and compares all there is. */
async function compare(
  world: World,
  arena: Arena,
  server: TestServer,
  send: () => Promise<Reply>,
  expected: (model: PermitsModel, now: number) => Reply,
): Promise<void> {
  server.looks = [];
  const reply = await send();
  const looks = [...server.looks].sort();
  const before = arena.stored;
  arena.stored = await world.fixture.stored(arena.resource);
  const answer = expected(arena.model, Number(arena.stored.numbers.seen ?? (await world.fixture.now())));
  world.log.push(
    JSON.stringify(reply, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
  );
  expect(withoutSendTime(reply)).toEqual(withoutSendTime(answer));
  const told = arena.model.told.filter(([id]) => id === server.id).map(([, id]) => id);
  expect(looks).toEqual(told.sort());
  expect(statesIn(arena.stored)).toEqual(statesOf(arena.model));
  expect(brokenInvariants(arena.stored)).toEqual([]);
  expect(brokenTransitions(before, arena.stored, 0)).toEqual([]);
}

const letters = { waiting: 'W', detached: 'D', offered: 'O', held: 'H', ended: 'E' } as const;

function statesIn({ records, sets }: Stored): object {
  const times = new Map([...Object.values(sets)].flat().map(({ id, score }) => [id, score]));
  return Object.fromEntries(Object.entries(records).map(([id, { s }]) => [id, [s, times.get(id)]]));
}

function statesOf({ requests }: PermitsModel): object {
  return Object.fromEntries(
    requests.map(({ id, state, until, ticket }) => [
      id,
      [letters[state], state === 'waiting' ? ticket : until],
    ]),
  );
}

const arena = fc.nat(ARENAS - 1);
const slot = fc.nat(SLOTS - 1);
const server = fc.nat(SERVERS - 1);
/** 0: the newest call of the request, 1: the one before it, ... */
const age = fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(3) });
const ttlMs = fc.constantFrom(100, 1000, 2500, 5000, 30_000);

function callOf(at: Arena, index: number, back: number): Requester | undefined {
  const calls = at.slots[index] as Requester[];
  return calls[calls.length - 1 - back] ?? calls[0];
}

const acquire = fc
  .record({
    arena,
    slot,
    server,
    fresh: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
    resend: fc.integer({ min: 0, max: 4 }).map((n) => n === 0),
    stream: fc.boolean(),
    wait: fc.integer({ min: 0, max: 4 }).map((n) => n > 0),
    permits: fc.integer({ min: 1, max: 6 }),
    brings: fc.integer({ min: 0, max: 4 }).map((n) => n > 0),
    shared: fc.boolean(),
    holderId: fc.constantFrom('', '', '', 'x'),
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
    permits: number;
    brings: boolean;
    shared: boolean;
    holderId: string;
    ttlMs: number;
    maxWaiters: number;
  },
  at: Arena,
  first: Requester | undefined,
): RequesterOptions {
  const semaphore = at.resource.service === 'semaphore';
  const { stream, ttlMs, maxWaiters, holderId } = drawn;
  // Nearly always a repeat says the same as the first; a wrong holder_id stands for all mismatches.
  const same = first?.options ?? {
    holderId,
    metadata: drawn.shared ? { a: 'é' } : {},
    ...(semaphore ? { permits: drawn.permits, initialLimit: drawn.brings ? at.limit : undefined } : {}),
    ...(!semaphore && drawn.shared ? { mode: 'shared' as const } : {}),
  };
  const mismatch = first !== undefined && drawn.permits === 6 && drawn.holderId === 'x';
  return {
    ...same,
    stream,
    ttlMs,
    maxWaiters,
    requestId: first?.requestId ?? randomUUID(),
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

/** A step by one of the calls already made; nothing happens if there is none. */
function byCall<Drawn extends { arena: number; slot: number; age: number }>(
  text: string,
  drawn: Drawn,
  send: (call: Requester) => Promise<Reply>,
  expected: (call: Requester, model: PermitsModel, now: number) => Reply,
  mayBeSent: (call: Requester) => boolean = () => true,
): RandomStep {
  return new RandomStep(`${text} ${JSON.stringify(drawn)}`, drawn.arena, async (at, world) => {
    const call = callOf(at, drawn.slot, drawn.age);
    if (!call || !mayBeSent(call)) return;
    const by = call.server as TestServer;
    await compare(
      world,
      at,
      by,
      () => send(call),
      (model, now) => expected(call, model, now),
    );
  });
}

const claim = fc.record({ arena, slot, age }).map((drawn) => {
  let ticket = '0';
  return byCall(
    'claim',
    drawn,
    (call) => {
      ticket = call.ticket; // the reply may bring another
      return call.claim();
    },
    (call, model, now) => model.claim(call.server.id, now, { ...call.wanted, ticket }),
    (call) => call.ticket !== '0',
  );
});

const withdraw = fc.record({ arena, slot, age, giveBack: fc.boolean() }).map((drawn) =>
  byCall(
    'withdraw',
    drawn,
    (call) => (drawn.giveBack ? call.giveBack() : call.withdraw()),
    (call, model, now) => model.withdraw(call.server.id, now, { ...call.wanted, giveBack: drawn.giveBack }),
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

/** The secret that was handed out is the one of the request's first call. */
const secretOf = (at: PermitsModel, call: Requester) =>
  at.requests.find(({ id }) => id === call.requestId)?.secret ?? call.secret;

const renew = fc
  .record({
    arena,
    slot,
    age,
    ttlMs: fc.option(ttlMs, { nil: undefined }),
    by: fc.constantFrom('id', 'id', 'stream', 'open', 'guess'),
  })
  .map(
    (drawn) =>
      new RandomStep(`renew ${JSON.stringify(drawn)}`, drawn.arena, async (at, world) => {
        const call = callOf(at, drawn.slot, drawn.age);
        if (!call) return;
        const command = {
          requestId: call.requestId,
          secret: drawn.by === 'guess' ? 'guess' : secretOf(at.model, call),
          ttlMs: drawn.by === 'stream' ? undefined : drawn.ttlMs,
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

const release = fc.record({ arena, slot, age, by: fc.constantFrom('id', 'id', 'id', 'lost', 'guess') }).map(
  (drawn) =>
    new RandomStep(`release ${JSON.stringify(drawn)}`, drawn.arena, async (at, world) => {
      const call = callOf(at, drawn.slot, drawn.age);
      if (!call) return;
      const command = {
        requestId: call.requestId,
        secret: drawn.by === 'guess' ? 'guess' : secretOf(at.model, call),
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

/** A step by a server on the semaphore's limit; a lock has none. */
function onLimit<Drawn extends { arena: number; server: number }>(
  text: string,
  drawn: Drawn,
  send: (by: TestServer, resource: Resource) => Promise<Reply>,
  expected: (by: TestServer, at: Arena, now: number) => Reply,
): RandomStep {
  return new RandomStep(`${text} ${JSON.stringify(drawn)}`, drawn.arena, async (at, world) => {
    if (at.resource.service === 'lock') return;
    const by = world.servers[drawn.server] as TestServer;
    await compare(
      world,
      at,
      by,
      () => send(by, at.resource),
      (_, now) => expected(by, at, now),
    );
  });
}

const limit = fc.nat(6);

const setLimit = fc
  .record({ arena, server, limit, expectedLimit: fc.option(limit, { nil: undefined, freq: 3 }) })
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

/** All the steps of a random history, more of what makes histories interesting. */
export const randomSteps: fc.Arbitrary<fc.AsyncCommand<object, World>>[] = [
  acquire,
  acquire,
  acquire,
  claim,
  withdraw,
  touch,
  renew,
  release,
  release,
  setLimit,
  remove,
  pass,
];
