import type { RedisProcess } from '../../../support/processes/redis-process';
import type { FleetStore } from '../../fleet';

/** The store of a round, whatever it is made of. `command` goes to where the keys of its name are. */
export interface SuiteStore extends FleetStore {
  /** All Redis that take writes now; one that is down or stopped may be among them. */
  masters(): Promise<readonly RedisProcess[]>;
}

/** A store in which another Redis takes a master's place. */
export interface FailoverStore extends SuiteStore {
  replicasOf(master: RedisProcess): Promise<readonly RedisProcess[]>;
  /** In order, while both are there. */
  handOver(master: RedisProcess): Promise<void>;
  /** To be the master, whether the old one is there or not; where nobody else sees to it. */
  takeOver(replica: RedisProcess): Promise<void>;
}

export function isFailoverStore(store: SuiteStore): store is FailoverStore {
  return 'takeOver' in store;
}
