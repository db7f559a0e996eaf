import { RedisClusterProcesses } from '../support/processes/redis-cluster';
import type { RedisProcess } from '../support/processes/redis-process';
import { RedisSentinels } from '../support/processes/redis-sentinels';
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
import { everythingWorks, handOversAreHinted, onStage, untilAvailable } from './stage';

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
