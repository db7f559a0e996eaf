import type fc from 'fast-check';
import type { Resource } from '../../../src/leases/lease';
import { showSame } from '../../../src/leases/watch-state';
import type { LeaseFixture } from './lease-fixture';
import { brokenInvariants, brokenTransitions } from './lease-invariants';
import { LeaseModel } from './lease-model';
import type { TestServer } from './lease-server';
import type { Stored } from './lease-stored';
import type { Requester } from './lease-requester';

/** One resource, in Redis and in the model. */
export interface Arena {
  readonly resource: Resource;
  readonly limit: number | undefined;
  readonly model: LeaseModel;
  /** The calls of each request, by slot. The newest call is last. */
  readonly slots: Requester[][];
  stored: Stored;
}

export interface World {
  readonly fixture: LeaseFixture;
  readonly servers: readonly TestServer[];
  readonly arenas: readonly Arena[];
  /** The replies so far, for the report of a failure. */
  readonly log: string[];
  /** True: each command's server has a watch, and must be told of each change that watches show. Needs a frozen clock. */
  readonly checksWatches?: boolean;
}

export const SLOTS = 5;
export const ARENAS = 2;
export const SEMAPHORE_LIMIT = 5;

/** A lock and a semaphore of one bucket, for two servers. */
export async function worldOfOneBucket(on: LeaseFixture): Promise<World> {
  const arenas: Arena[] = [];
  for (const service of ['lock', 'semaphore'] as const) {
    const resource = arenas[0] ? on.resourceBeside(arenas[0].resource, service) : on.resource(service);
    const slots = Array.from({ length: SLOTS }, () => []);
    const limit = service === 'semaphore' ? SEMAPHORE_LIMIT : undefined;
    arenas.push({ resource, limit, model: new LeaseModel(), slots, stored: await on.stored(resource) });
  }
  return { fixture: on, servers: [await on.server('s1'), await on.server('s2')], arenas, log: [] };
}

export type Reply = object;
type Step = (arena: Arena, world: World) => Promise<void>;

/** One step of a random history, which fast-check can shrink. */
export class RandomStep implements fc.AsyncCommand<object, World> {
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

/** Sends a command to Redis and to the model at the same Redis time, and compares replies and states. */
export async function compare(
  world: World,
  arena: Arena,
  server: TestServer,
  send: () => Promise<Reply>,
  expected: (model: LeaseModel, now: number) => Reply,
): Promise<void> {
  server.rechecks = [];
  server.grants = [];
  const expectTold = world.checksWatches ? await watched(server, arena) : undefined;
  const reply = await send();
  await expectTold?.();
  const looks = [...server.rechecks].sort();
  const before = arena.stored;
  arena.stored = await world.fixture.stored(arena.resource);
  const answer = expected(arena.model, Number(arena.stored.numbers.seen ?? (await world.fixture.now())));
  world.log.push(
    JSON.stringify(reply, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
  );
  expect(withoutSendTime(reply)).toEqual(withoutSendTime(answer));
  const told = arena.model.told.filter(([id]) => id === server.id).map(([, id]) => id);
  expect(looks).toEqual(told.sort());
  const grants = server.grants.map(({ call, grant }) => ({ call, grant: withoutSendTime(grant) }));
  const direct = arena.model.directGrants();
  expect(grants).toEqual(direct.map(({ call, grant }) => ({ call, grant: withoutSendTime(grant) })));
  expect(statesIn(arena.stored)).toEqual(statesOf(arena.model));
  expect(brokenInvariants(arena.stored)).toEqual([]);
  expect(brokenTransitions(before, arena.stored, 0)).toEqual([]);
}

/** Registers the server as a watcher. The returned function expects that a reply has told the server of a change. */
async function watched({ store, changed }: TestServer, { resource }: Arena): Promise<() => Promise<void>> {
  const { view: before } = await store.watch(resource);
  const toldBefore = changed.length;
  const isKnown = before.limit !== undefined || resource.service === 'lock';
  return async () => {
    const after = await store.inspect(resource);
    if (isKnown && !showSame(before, after)) expect(changed.length).toBeGreaterThan(toldBefore);
  };
}

function statesIn({ records, sets }: Stored): object {
  const times = new Map([...Object.values(sets)].flat().map(({ id, score }) => [id, score]));
  return Object.fromEntries(Object.entries(records).map(([id, { state }]) => [id, [state, times.get(id)]]));
}

function statesOf({ requests }: LeaseModel): object {
  return Object.fromEntries(
    requests.map(({ id, state, until, ticket }) => [id, [state, state === 'waiting' ? ticket : until]]),
  );
}

export function callOf(at: Arena, index: number, back: number): Requester | undefined {
  const calls = at.slots[index] as Requester[];
  return calls[calls.length - 1 - back] ?? calls[0];
}

/** A step of an existing call. Without such a call the step does nothing. */
export function byCall<Drawn extends { arena: number; slot: number; age: number }>(
  text: string,
  drawn: Drawn,
  send: (call: Requester, at: Arena) => Promise<Reply>,
  expected: (call: Requester, model: LeaseModel, now: number) => Reply,
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
      () => send(call, at),
      (model, now) => expected(call, model, now),
    );
  });
}

/** A step of a server on the limit of a semaphore. Locks have no limit to set. */
export function onLimit<Drawn extends { arena: number; server: number }>(
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
