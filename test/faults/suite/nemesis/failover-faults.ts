import { between, oneOf, type Random } from '../../../support/random';
import type { RedisProcess } from '../../../support/processes/redis-process';
import { eventually } from '../../../support/eventually';
import type { Stage } from '../stage';
import { ClusterStore } from '../stores/cluster-store';
import { isFailoverStore, type FailoverStore } from '../stores/store';
import type { Fault } from './fault';
import { FORGETTING } from './forgetting';

/** The time in which the replica misses the writes of its master (ms). */
const LAG_MS = [300, 2500] as const;
const FAILOVER_MS = 20_000;

/** A planned failover. No data is lost, but the servers have no proof. */
export const handedOver: Fault = {
  about: 'planned failover: the replica has all writes',
  topologies: ['sentinel', 'cluster'],
  pauses: () => true,
  touches: ['store'],
  carryOut: (stage, random) =>
    withMaster(stage, random, async (store, master) => {
      const before = await stage.store.leases();
      const end = stage.scenario.fault('redis_restarted', 'planned failover', FORGETTING);
      await store.handOver(master);
      await replaced(store, master);
      end();
      return { failovers: 1, 'leases kept': before.size - (await stage.store.missing(before)) };
    }),
};

/**
 * Kills a master while its replicas lack acknowledged writes. The fault stops the replicas, kills them with the unread
 * writes in their sockets, and restarts them with their older data. One of the replicas takes over.
 */
export const staleReplicaPromoted: Fault = {
  about: 'SIGKILL of a master with a lagging replica, which takes over',
  topologies: ['sentinel', 'cluster'],
  pauses: () => true,
  forgets: true,
  touches: ['store'],
  weight: 3,
  carryOut: (stage, random) =>
    withMaster(stage, random, async (store, master) => {
      const replicas = await store.replicasOf(master);
      if (replicas.length === 0) return undefined;
      await Promise.all(replicas.map((replica) => replica.stop()));
      await stage.sleep(between(random, ...LAG_MS));
      const before = await stage.store.leases();
      const end = stage.scenario.fault('redis_lost_writes', 'a lagging replica takes over', FORGETTING);
      await master.kill();
      await Promise.all(replicas.map((replica) => replica.kill()));
      await Promise.all(replicas.map((replica) => replica.restart()));
      await store.takeOver(oneOf(random, replicas));
      await replaced(store, master);
      await master.restart();
      end();
      return { failovers: 1, 'leases lost': await stage.store.missing(before) };
    }),
};

/** Migrates a slot with all its keys to another master while clients use them. */
export const slotMoved: Fault = {
  about: 'migration of a slot',
  topologies: ['cluster'],
  touches: ['store'],
  carryOut: async (stage, random) => {
    const store = stage.fleet.redis;
    if (!(store instanceof ClusterStore)) return undefined;
    const end = stage.scenario.fault('store_refusing', 'a slot moves');
    const keys = await store.moveSlot(random);
    end();
    return keys === undefined ? undefined : { 'keys moved': keys };
  },
};

async function withMaster<T>(
  stage: Stage,
  random: Random,
  work: (store: FailoverStore, master: RedisProcess) => Promise<T>,
): Promise<T | undefined> {
  const store = stage.fleet.redis;
  return isFailoverStore(store) ? work(store, await stage.master(random)) : undefined;
}

function replaced(store: FailoverStore, master: RedisProcess): Promise<boolean> {
  return eventually('another master', async () => !(await store.masters()).includes(master), {
    timeoutMs: FAILOVER_MS,
  });
}
