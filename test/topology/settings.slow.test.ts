import { dictionaryNamesKey, entriesKey } from '../../src/autocomplete/redis/entry-keys';
import { bucketOf, slotOfBucket, slotOfKey } from '../../src/redis/buckets';
import { refusal } from '../support/clients/calls';
import { eventually } from '../support/eventually';
import {
  acceptedCount,
  connectionsOf,
  FIRST_PASSWORD,
  killConnections,
  NEXT_PASSWORD,
  passwordFile,
  setUser,
} from '../support/password-rotation';
import { type ClusterNode, RedisClusterProcesses } from '../support/processes/redis-cluster';
import { type RedisProcess, SERVER_USER, tlsSettings } from '../support/processes/redis-process';
import { RedisSentinels, SENTINEL_AUTH } from '../support/processes/redis-sentinels';
import { connectTestStore } from '../support/test-store';
import {
  endQuarantine,
  everythingWorks,
  handOversAreHinted,
  namesOf,
  onStage,
  overStore,
  type Stage,
  untilAvailable,
} from './stage';

describe('settings', () => {
  /** A setting that replicas do not confirm takes the whole command timeout. */
  const SHORT_TIMEOUT = { HOLDFAST_COMMAND_TIMEOUT: '2s' };
  /** Replicas that a test has paused must count for longer than the test takes, or Redis would refuse writes. */
  const ONE_REPLICA = ['--min-replicas-to-write', '1', '--min-replicas-max-lag', '600'];

  const overSentinel = (run: (sentinels: RedisSentinels, stage: Stage) => Promise<void>) =>
    overStore(RedisSentinels.start({ replicas: 1, args: ONE_REPLICA }), SHORT_TIMEOUT, run);

  const overCluster = (run: (cluster: RedisClusterProcesses, stage: Stage) => Promise<void>) =>
    overStore(RedisClusterProcesses.start({ replicas: 1, args: ONE_REPLICA }), SHORT_TIMEOUT, run);

  /** Expects that a call ends because the replicas have not confirmed its change. */
  async function isUnconfirmed(call: Promise<unknown>): Promise<void> {
    const ending = await refusal(call);
    expect(ending).toMatchObject({ code: 'UNAVAILABLE', reason: 'OUTCOME_UNKNOWN' });
    expect(ending.text).toContain('its replicas have not confirmed the change');
  }

  const limitOf = async ({ other }: Stage, name: string): Promise<number> =>
    (await untilAvailable('the next master', () => other.semaphores().get(name))).limit;

  /** Kills the master while its replica lacks the last writes, and lets the replica take over. */
  async function takeOverByLaggingReplica(master: RedisProcess, replica: RedisProcess): Promise<void> {
    await master.kill();
    // The kill also discards the writes that the replica has received and not read.
    await replica.kill();
    await replica.restart();
  }

  test('with Sentinel, a limit that was acknowledged is in force after the master was killed', () =>
    overSentinel(async (sentinels, stage) => {
      const client = stage.one.semaphores();
      await client.setLimit('gpu', 8);
      await client.setLimit('gpu', 2);
      const master = await sentinels.master();
      await master.kill();
      await eventually('another master', async () => (await sentinels.master()) !== master, {
        timeoutMs: 60_000,
      });
      expect(await limitOf(stage, 'gpu')).toBe(2);
    }));

  test('with Sentinel, a limit that the replica lacks is not acknowledged, and a failover undoes it', () =>
    overSentinel(async (sentinels, stage) => {
      const client = stage.one.semaphores();
      await client.setLimit('gpu', 8);
      const master = await sentinels.master();
      const replica = sentinels.redis.find((redis) => redis !== master) as RedisProcess;
      await replica.stop();
      await isUnconfirmed(client.setLimit('gpu', 2));
      expect((await client.get('gpu')).limit).toBe(2);
      await isUnconfirmed(client.setLimit('gpu', 2));
      await takeOverByLaggingReplica(master, replica);
      await eventually('another master', async () => (await sentinels.master()) === replica, {
        timeoutMs: 60_000,
      });
      expect(await limitOf(stage, 'gpu')).toBe(8);
    }));

  const slotOfSemaphore = (name: string) => slotOfBucket(bucketOf(name));
  const slotOfDictionary = (name: string) => slotOfKey(entriesKey('holdfast', name));

  /** One name with its keys on each master. `slotOf` says where the keys of a name are. */
  async function oneOfEach(
    cluster: RedisClusterProcesses,
    stem: string,
    slotOf: (name: string) => number,
  ): Promise<[ClusterNode, string][]> {
    const found = new Map<ClusterNode, string>();
    for (const name of namesOf(stem, 60)) {
      const master = await cluster.masterOf(slotOf(name));
      if (!found.has(master)) found.set(master, name);
    }
    return [...found];
  }

  test('in a Cluster, the replicas of the node of a name must confirm its limit, and other nodes have no effect', () =>
    overCluster(async (cluster, stage) => {
      const client = stage.one.semaphores();
      const places = await oneOfEach(cluster, 'pool', slotOfSemaphore);
      expect(places).toHaveLength(3);
      for (const [, name] of places) await client.setLimit(name, 8);
      const [[master, name], ...others] = places as [[ClusterNode, string], ...[ClusterNode, string][]];
      const replica = await cluster.replicaOf(master);
      await replica.redis.stop();
      await isUnconfirmed(client.setLimit(name, 2));
      await isUnconfirmed(client.delete(name));
      for (const [, other] of others) expect((await client.setLimit(other, 2)).limit).toBe(2);
      await replica.redis.cont();
      await untilAvailable('the replica to confirm the deletion', () => client.delete(name));
      await client.setLimit(name, 3);
      await master.redis.kill();
      expect(await limitOf(stage, name)).toBe(3);
    }));

  test('in a Cluster, replicas of the dictionary and of the list of all dictionaries must confirm a dictionary', () =>
    overCluster(async (cluster, stage) => {
      const client = stage.one.autocomplete();
      const places = await oneOfEach(cluster, 'towns', slotOfDictionary);
      const listMaster = await cluster.masterOf(slotOfKey(dictionaryNamesKey('holdfast')));
      const [[master, name], [, other]] = places.filter(([node]) => node !== listMaster) as [
        [ClusterNode, string],
        [ClusterNode, string],
      ];
      for (const node of [master, listMaster]) {
        const { redis } = await cluster.replicaOf(node);
        await redis.stop();
        await isUnconfirmed(client.create(name));
        if (node === master) await client.create(other);
        await redis.cont();
        await untilAvailable('the replicas to confirm the dictionary', () => client.create(name));
      }
    }));
});

describe('with TLS, and with the documented rights at Redis and at the sentinels', () => {
  test('a Cluster serves locks, semaphores, hand-overs and autocomplete without a warning', () =>
    overStore(RedisClusterProcesses.start({ secure: true }), tlsSettings, async (cluster, stage) => {
      await everythingWorks(stage);
      for (const { redis } of cluster.nodes) expect(await usersOf([redis])).toContain(SERVER_USER);
    }));

  test('a Cluster with a node that refuses a right keeps the server from starting', async () => {
    const cluster = await RedisClusterProcesses.start();
    try {
      await cluster.nodes[1]?.redis.command('ACL', 'SETUSER', SERVER_USER, '-asking');
      const started = connectTestStore(cluster.url, { serverId: 's1', commandTimeoutMs: 2000 });
      await expect(started).rejects.toThrow(/this Redis user may not run ASKING/);
    } finally {
      await cluster.close();
    }
  });

  test('two masters in turn, as named by Sentinel, serve locks, semaphores, hand-overs and autocomplete without a warning', () => {
    const starting = RedisSentinels.start({
      secure: true,
      replicas: 1,
      args: ['--min-replicas-to-write', '1'],
    });
    const settings = { ...tlsSettings, HOLDFAST_REDIS_SENTINEL_AUTH: SENTINEL_AUTH };
    return overStore(starting, settings, async (sentinels, stage) => {
      await everythingWorks(stage);
      expect(await usersOf(sentinels.watchers)).toContain(SERVER_USER);
      await sentinels.failover();
      const client = stage.one.client();
      await endQuarantine(stage);
      await untilAvailable('the new master', () => client.acquire({ name: 'after the failover', waitMs: 0 }));
      await untilAvailable('hints', () => handOversAreHinted(stage, `again ${performance.now()}`));
    });
  });
});

/** The users of all connections to these processes. */
async function usersOf(
  redis: readonly { command(...words: [string, ...string[]]): Promise<unknown> }[],
): Promise<string[]> {
  const lists = await Promise.all(redis.map((one) => one.command('CLIENT', 'LIST')));
  return lists.flatMap((list) => [...String(list).matchAll(/ user=(\S+)/g)].map(([, user = '']) => user));
}

describe('redis password', () => {
  /** The password of Redis is changed at a Cluster, and at the nodes of Sentinel, which security.md describes. */

  interface Nodes {
    readonly url: string;
    masters(): Promise<readonly RedisProcess[]>;
    close(): Promise<void>;
  }

  const TOPOLOGIES: readonly (readonly [
    string,
    () => Promise<Nodes>,
    (store: Nodes) => readonly RedisProcess[],
  ])[] = [
    [
      'a Cluster',
      () => RedisClusterProcesses.start(),
      (store) => (store as RedisClusterProcesses).nodes.map(({ redis }) => redis),
    ],
    [
      'a master that Sentinel names',
      () => RedisSentinels.start({ replicas: 1 }),
      (store) => (store as RedisSentinels).redis,
    ],
  ];

  test.each(TOPOLOGIES)(
    'at %s, a new password is used by all connections, and no lease is lost',
    async (_, start, of) => {
      const store = await start();
      try {
        const { env, write } = passwordFile(store.url);
        await onStage(store, 2, env, async (stage) => {
          const nodes = of(store);
          const masters = await store.masters();
          const client = stage.one.client();
          const kept = await client.acquire({ name: 'kept', ttlMs: 100_000 });
          const accepted = await acceptedCount(masters);
          await setUser(nodes, `>${NEXT_PASSWORD}`);
          write(NEXT_PASSWORD);
          // One AUTH for each of the two servers and each master.
          await eventually(
            'the new password',
            async () => (await acceptedCount(masters)) >= accepted + 2 * masters.length,
          );
          await setUser(nodes, `<${FIRST_PASSWORD}`);
          await killConnections(nodes);
          for (const master of masters) {
            await eventually('the connections', async () => {
              const { count, subscribed } = await connectionsOf(master);
              return count >= 4 && subscribed === 2;
            });
          }
          await untilAvailable('hints', () => handOversAreHinted(stage, `after ${performance.now()}`));
          expect((await client.renew(kept.leaseId)).leaseId).toBe(kept.leaseId);
          await everythingWorks(stage);
          expect(stage.unexpectedWarnings().filter((text) => /password/.test(text))).toEqual([]);
        });
      } finally {
        await store.close();
      }
    },
  );
});
