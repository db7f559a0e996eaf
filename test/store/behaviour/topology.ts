import type { RedisProcess } from '../../support/processes/redis-process';

/** A started store of one topology, for the behaviour suite. */
export interface Topology {
  /** A value for HOLDFAST_REDIS_URL. */
  readonly url: string;
  /** All masters. Each must hold keys of the suite's names, if there are several. */
  readonly masters: readonly RedisProcess[];
  close(): Promise<void>;
}
