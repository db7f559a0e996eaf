/** Lock and Unlock of etcd's lock service, with a fixed number of calls in flight. */
import { EtcdClient } from './etcd-client';
import { inFlight, type Amount } from './in-flight';
import { serveTasks } from './serve-tasks';

const TTL_MS = 600_000;

let client: EtcdClient | undefined;
let label = '';
let lease = '';

function etcd(): EtcdClient {
  if (client === undefined) throw new Error('call connect first');
  return client;
}

const tasks = {
  connect: async (to: { address: string; label: string }) => {
    label = to.label;
    client = new EtcdClient(to.address);
    lease = await client.grantLease(TTL_MS);
  },
  /** A single lease for all locks of the process, which is the cheapest use of etcd. */
  pairs: (amount: Amount) =>
    inFlight(amount, async (_, client) => {
      const key = await etcd().lock(`${label}-${client}`, lease);
      await etcd().unlock(key);
    }),
  /** A lease for each hold, so that a lock expires when its holder dies, like every lock of Holdfast. */
  pairsWithLeases: (amount: Amount) =>
    inFlight(amount, async (_, client) => {
      const own = await etcd().grantLease(TTL_MS);
      const key = await etcd().lock(`${label}-${client}`, own);
      await etcd().unlock(key);
      await etcd().revokeLease(own);
    }),
};

export type EtcdTasks = typeof tasks;

serveTasks(tasks);
