/** Unary calls of LockService, SemaphoreService and of the empty method, with a fixed number of calls in flight. */
import { bearer } from '../../test/support/clients/calls';
import { LockClient, SemaphoreClient } from '../../test/support/clients/lease-client';
import { BenchClient } from './bench-client';
import { inFlight, type Amount } from './in-flight';
import { releaseHeld } from './release-held';
import { serveTasks } from './serve-tasks';

const TTL_MS = 120_000;
const PERMITS = 10;
/** The limit of a semaphore with very many holders. */
const MANY_PERMITS = 100_000;

interface Clients {
  readonly locks: LockClient;
  readonly semaphores: SemaphoreClient;
  readonly bench: BenchClient;
}

let connected: Clients | undefined;
/** The prefix of this process's names, so that processes use different locks. */
let label = '';
/** The leases of `acquire`, for `renew`, `reacquire` and `release`. */
const leaseIds: string[] = [];

function clients(): Clients {
  if (connected === undefined) throw new Error('call connect first');
  return connected;
}

function nameOf(index: number): string {
  return `${label}-${index}`;
}

function leaseId(index: number): string {
  const id = leaseIds[index];
  if (id === undefined) throw new Error('call acquire first');
  return id;
}

async function acquireLock(index: number): Promise<string> {
  return (await clients().locks.acquire({ name: nameOf(index), ttlMs: TTL_MS, waitMs: 0 })).leaseId;
}

async function acquirePermit(name: string, initialLimit: number): Promise<string> {
  return (await clients().semaphores.acquire({ name, initialLimit, ttlMs: TTL_MS, waitMs: 0 })).leaseId;
}

async function permitPair(name: string, initialLimit: number): Promise<void> {
  await releaseHeld(clients().semaphores, await acquirePermit(name, initialLimit));
}

async function mustFail(call: Promise<unknown>): Promise<void> {
  const hasFailed = await call.then(
    () => false,
    () => true,
  );
  if (!hasFailed) throw new Error('the server has not refused the call');
}

/** Work by its index and by the number of its client. */
const works = {
  empty: () => clients().bench.empty(),
  /** Acquires a different lock with each call. */
  acquire: async (index: number) => void (leaseIds[index] = await acquireLock(index)),
  renew: async (index: number) => void (await clients().locks.renew(leaseId(index))),
  get: async (index: number) => void (await clients().locks.get(nameOf(index))),
  /** A call that the server must refuse. */
  refused: (index: number) => mustFail(clients().locks.get(nameOf(index))),
  release: (index: number) => releaseHeld(clients().locks, leaseId(index)),
  /** Acquires and releases in turn. Each client has its own lock. */
  pairs: async (_: number, client: number) => releaseHeld(clients().locks, await acquireLock(client)),
  /** Does the same as `pairs` with a permit of a semaphore. */
  permitPairs: (_: number, client: number) => permitPair(nameOf(client), PERMITS),
} satisfies Readonly<Record<string, (index: number, client: number) => Promise<void>>>;

export type UnaryWork = keyof typeof works;

/** The next turn of `reacquire`. */
let turned = 0;

const tasks = {
  /** `token`: the bearer token of all calls. The server may refuse it. */
  connect: async (to: { address: string; label: string; token?: string | undefined }) => {
    const { address, token } = to;
    label = to.label;
    const channel = bearer(token);
    connected = {
      locks: new LockClient(address, { channel }),
      semaphores: new SemaphoreClient(address, { channel }),
      bench: new BenchClient(address, channel),
    };
    await connected.bench.empty().catch(() => undefined);
  },
  work: ({ kind, ...amount }: Amount & { kind: UnaryWork }) => inFlight(amount, works[kind]),
  /** Releases some of `locks` locks and acquires them again. Each client has its own share of the locks, in turn. */
  reacquire: async ({ locks, ...amount }: Amount & { locks: number }) => {
    const each = Math.floor(locks / amount.inFlight);
    const turns = new Array<number>(amount.inFlight).fill(turned);
    turned += Math.ceil(amount.count / amount.inFlight);
    await inFlight(amount, async (_, client) => {
      const turn = turns[client] ?? 0;
      turns[client] = turn + 1;
      const index = client * each + (turn % each);
      await works.release(index);
      await works.acquire(index);
    });
  },
  /** Acquires permits of one semaphore, and keeps the permits. */
  holdPermits: ({ name, ...amount }: Amount & { name: string }) =>
    inFlight(amount, async () => void (await acquirePermit(name, MANY_PERMITS))),
  /** Acquires and releases a permit of the semaphore of `holdPermits`. */
  sharedPermitPairs: ({ name, ...amount }: Amount & { name: string }) =>
    inFlight(amount, () => permitPair(name, MANY_PERMITS)),
};

export type UnaryTasks = typeof tasks;

serveTasks(tasks);
