import type { RedisProcess } from '../../../support/processes/redis-process';
import type { FleetStore } from '../../fleet';

/** The store of a round, in any topology. `command` goes to the owner of the command's key. */
export interface SuiteStore extends FleetStore {
  /** The present masters, including masters that are down or paused. */
  masters(): Promise<readonly RedisProcess[]>;
}

/** A store in which a replica can replace a master. */
export interface FailoverStore extends SuiteStore {
  replicasOf(master: RedisProcess): Promise<readonly RedisProcess[]>;
  /** An orderly failover, while the master and its replica are up. */
  handOver(master: RedisProcess): Promise<void>;
  /** Makes the replica a master, even if the old master is down. Does nothing if the topology promotes by itself. */
  takeOver(replica: RedisProcess): Promise<void>;
}

export function isFailoverStore(store: SuiteStore): store is FailoverStore {
  return 'takeOver' in store;
}
