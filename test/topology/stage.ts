import { status } from '@grpc/grpc-js';
import { bucketOf, wakeChannel } from '../../src/redis/buckets';
import { InProcessServer } from '../end-to-end/in-process-server';
import { closeAll, eventually } from '../support/eventually';
import { endQuarantine as callEndQuarantine, endingOf, refusal } from '../support/clients/calls';
import type { RedisProcess } from '../support/processes/redis-process';
import { type LockClient, ms } from '../support/clients/lease-client';
import { functionCalls, scriptCalls } from '../support/redis-operations';
import { Stopwatch } from '../support/stopwatch';

/** Warnings that these tests cause on purpose, because their Redis need not survive a power cut. */
const EXPECTED = /appendfsync is no:|min-replicas-to-write is (0:|less than)|repl-backlog-size is 1048576:/;

type Environment = Readonly<Record<string, string>>;

/** Several Redis: a Cluster, or a master with replicas and sentinels. */
interface Store {
  readonly url: string;
  /** The present masters. */
  masters(): Promise<readonly RedisProcess[]>;
}

/** Runs a test with a store of several Redis and two servers, and closes both. */
export async function overStore<Closable extends Store & { close(): Promise<void> }>(
  starting: Promise<Closable>,
  env: Environment,
  run: (store: Closable, stage: Stage) => Promise<void>,
): Promise<void> {
  const store = await starting;
  try {
    await onStage(store, 2, env, (stage) => run(store, stage));
  } finally {
    await store.close();
  }
}

/** Runs a test with some servers over the store, and closes the servers. */
export async function onStage(
  store: Store,
  serverCount: number,
  env: Environment,
  run: (stage: Stage) => Promise<void>,
): Promise<void> {
  const stage = await Stage.open(store, serverCount, env);
  await run(stage)
    .then(() => stage.close())
    .finally(() => stage.end());
}

/** Servers in this process over one store of several Redis. */
export class Stage {
  private constructor(
    readonly store: Store,
    readonly servers: readonly InProcessServer[],
  ) {}

  static async open(store: Store, count = 2, env: Environment = {}): Promise<Stage> {
    const all = Array.from({ length: count }, () => InProcessServer.start(store.url, env));
    return new Stage(store, await Promise.all(all));
  }

  get one(): InProcessServer {
    return this.servers[0] as InProcessServer;
  }

  get other(): InProcessServer {
    return this.servers[1] as InProcessServer;
  }

  /** The servers' warnings and errors, without the expected warnings. */
  unexpectedWarnings(): string[] {
    return this.servers
      .flatMap(({ warnings }) => warnings.map(({ msg }) => String(msg)))
      .filter((text) => !EXPECTED.test(text));
  }

  /** Ends the servers in any state. */
  async end(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.drain()));
  }

  /** Ends the servers. Throws if an engine still has a waiter or a lease. */
  close(): Promise<void> {
    // A server may warn of a new master at any time.
    return closeAll(...this.servers.map((server) => () => server.closeDespiteWarnings()));
  }
}

/** Longer than every failover on a machine with busy cores. */
const UNAVAILABLE_TIMEOUT_MS = 60_000;

export const namesOf = (stem: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${stem} ${i}`);

/** Repeats a call while the call fails with UNAVAILABLE. */
export async function untilAvailable<T>(
  what: string,
  call: () => Promise<T>,
  timeoutMs = UNAVAILABLE_TIMEOUT_MS,
): Promise<T> {
  const outcome = await eventually(
    what,
    async () => {
      const ended = await call().then(
        (value) => ({ value }),
        (error: { code?: number }) => ({ error }),
      );
      if ('error' in ended && ended.error.code === status.UNAVAILABLE) throw ended.error as unknown as Error;
      return ended;
    },
    { timeoutMs },
  );
  if ('error' in outcome) throw outcome.error as unknown as Error;
  return outcome.value;
}

/** Waits until a server has detected a possible loss, and ends the quarantine as an operator does. */
export async function endQuarantine({ one }: Stage): Promise<void> {
  let mayHaveEnded = false;
  await eventually(
    'a quarantine to end',
    async () => {
      const ending = callEndQuarantine(one.address, 'the replica was in sync');
      const { endedQuarantine } = await ending.catch((error: unknown) => {
        // A repeated call names no quarantine if this call has ended it, and the replicas had not confirmed the end.
        if (endingOf(error).reason === 'OUTCOME_UNKNOWN') mayHaveEnded = true;
        throw error;
      });
      return mayHaveEnded || endedQuarantine !== undefined;
    },
    { timeoutMs: UNAVAILABLE_TIMEOUT_MS },
  );
}

/**
 * Waits until this many replicas have all writes of a master so far. WAIT covers the writes before the last command of
 * its own connection, so a PING comes first.
 */
export async function untilReplicated(master: RedisProcess, replicaCount: number): Promise<void> {
  const isReplicated = async (): Promise<boolean> => {
    await master.command('PING');
    return Number(await master.command('WAIT', replicaCount, 1000)) === replicaCount;
  };
  await eventually(`${replicaCount} replicas to be in sync`, isReplicated, { timeoutMs: 60_000 });
}

/** How often clients ran a script or called the library. */
export async function scriptCount(redis: RedisProcess): Promise<number> {
  return scriptCalls(String(await redis.command('INFO', 'commandstats')));
}

/** Acquires, refuses, renews and releases locks on names of every node. */
export async function locksWork({ one, other }: Stage, stem: string): Promise<void> {
  const [client, rival] = [one.client(), other.client()];
  await Promise.all(
    namesOf(stem, 24).map(async (name) => {
      const lease = await client.acquire({ name, ttlMs: 20_000, waitMs: 0 });
      expect((await refusal(rival.acquire({ name, waitMs: 0 }))).reason).toBe('CONTENDED');
      expect(ms((await rival.renew(lease.leaseId)).expireOffset)).toBeGreaterThan(19_000);
      expect((await rival.release(lease.leaseId)).released).toBe(true);
      const next = await rival.acquire({ name, waitMs: 0 });
      expect(next.fencingToken).toBeGreaterThan(lease.fencingToken);
      await client.release(next.leaseId);
    }),
  );
}

/** Waits until each present master carries out operations by functions, because it has got the library. */
export async function functionsWork(stage: Stage, stem: string): Promise<void> {
  const masters = await stage.store.masters();
  const counts = () => Promise.all(masters.map(functionCount));
  const before = await counts();
  const allCalled = async () => {
    await locksWork(stage, `${stem} ${performance.now()}`);
    return (await counts()).every((count, i) => count > (before[i] ?? 0));
  };
  await eventually('functions on each master', allCalled, { timeoutMs: 20_000 });
}

async function functionCount(redis: RedisProcess): Promise<number> {
  return functionCalls(String(await redis.command('INFO', 'commandstats')));
}

async function semaphoresWork({ one, other }: Stage, stem: string): Promise<void> {
  const [client, rival] = [one.semaphores(), other.semaphores()];
  await Promise.all(
    namesOf(stem, 8).map(async (name) => {
      await client.setLimit(name, 3);
      const lease = await client.acquire({ name, permitCount: 2, waitMs: 0 });
      expect((await refusal(rival.acquire({ name, permitCount: 2, waitMs: 0 }))).reason).toBe('CONTENDED');
      await rival.setLimit(name, 4);
      const second = await rival.acquire({ name, permitCount: 2, waitMs: 0 });
      await client.release(second.leaseId);
      await client.release(lease.leaseId);
      await rival.delete(name);
    }),
  );
}

/** The bound of a hinted hand-over, without the waits of this process for a core. */
const HINTED_MS = 700;
/** A hint is lost if its subscription ends during a round. The waits of Redis for a core also make a round slow. */
const HINT_ROUNDS = 3;

/**
 * Hands locks over from one server to a waiter at the other server. Each hand-over must take less time than the touch
 * interval of one second. Without hints, some of 24 waiters wait for most of that interval.
 */
export async function handOversAreHinted(stage: Stage, stem: string): Promise<void> {
  const [client, rival] = [stage.one.client(), stage.other.client()];
  for (let round = 1; ; round += 1) {
    const names = namesOf(`${stem}, round ${round},`, 24);
    await untilSubscribed(stage, names);
    const latencies = await Promise.all(names.map((name) => handOver(client, rival, name)));
    if (Math.max(...latencies) < HINTED_MS) return;
    if (round === HINT_ROUNDS) throw new Error(`hand-overs took ${latencies.map(Math.round).join(', ')} ms`);
  }
}

/** Waits until each server of the store has subscribed at a master to the channels of the names. */
async function untilSubscribed({ store, servers }: Stage, names: readonly string[]): Promise<void> {
  const buckets = new Set(names.map(bucketOf));
  const isSubscribed = async (): Promise<boolean> => {
    const lists = (await store.masters()).map((redis) => redis.command('PUBSUB', 'SHARDCHANNELS'));
    const channels = new Set((await Promise.all(lists)).flat().map(String));
    const serverIds = new Set([...channels].map((channel) => channel.slice(channel.lastIndexOf(':') + 1)));
    return (
      serverIds.size >= servers.length &&
      [...serverIds].every((id) =>
        [...buckets].every((bucket) => channels.has(wakeChannel('holdfast', bucket, id))),
      )
    );
  };
  await eventually('the subscriptions to hints', isSubscribed, { timeoutMs: UNAVAILABLE_TIMEOUT_MS });
}

async function handOver(client: LockClient, rival: LockClient, name: string): Promise<number> {
  const lease = await client.acquire({ name, ttlMs: 20_000, waitMs: 0 });
  const next = rival.acquire({ name, ttlMs: 20_000, waitMs: 15_000 });
  await eventually('the waiter to be in the queue', async () => (await client.get(name)).waiterCount === 1);
  const stopwatch = new Stopwatch();
  await client.release(lease.leaseId);
  const { leaseId } = await next;
  const took = stopwatch.chargedMs;
  await rival.release(leaseId);
  return took;
}

/** Uses every feature, and expects no warning. */
export async function everythingWorks(stage: Stage): Promise<void> {
  await Promise.all([locksWork(stage, 'lock'), semaphoresWork(stage, 'semaphore')]);
  await handOversAreHinted(stage, 'hand-over');
  await autocompleteWorks(stage, 'dictionary');
  expect(stage.unexpectedWarnings()).toEqual([]);
}

async function autocompleteWorks({ one, other }: Stage, stem: string): Promise<void> {
  const [client, rival] = [one.autocomplete(), other.autocomplete()];
  const dictionaries = namesOf(stem, 6);
  await Promise.all(
    dictionaries.map(async (dictionary) => {
      await client.create(dictionary);
      const texts = namesOf('straw', 40);
      await client.put(dictionary, ...texts.map((text) => ({ entryId: text, text })));
      await client.select(dictionary, 'straw 7', 3);
      expect(await rival.texts({ dictionary, query: 'stra', pageSize: 1 })).toEqual(['straw 7']);
      await client.addRecent({ list: dictionary, text: 'lately' });
      expect(await rival.recents({ list: dictionary, query: 'la' })).toEqual(['lately']);
    }),
  );
  const listed = await client.call(client.stub.listDictionaries, {
    namePrefix: stem,
    pageSize: 100,
    pageToken: '',
  });
  expect(listed.dictionaries.map(({ name }) => name).sort()).toEqual(dictionaries.sort());
}
