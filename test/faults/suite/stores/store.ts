import type { RedisProcess } from '../../../support/redis-process';
import type { FleetStore } from '../../fleet';

/** The store of a round, whatever it is made of. `command` goes to where the keys of its name are. */
export interface SuiteStore extends FleetStore {
  /** All Redis that take writes now; one that is down or stopped may be among them. */
  masters(): Promise<readonly RedisProcess[]>;
}
