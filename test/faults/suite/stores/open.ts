import type { Clocks } from '../clock-shim/clocks';
import type { RoundPlan } from '../plan';
import { ClusterStore } from './cluster-store';
import { OneRedis } from './one-redis';
import { SentinelStore } from './sentinel-store';
import type { SuiteStore } from './store';

/** Allows DEBUG SLEEP, which is one of the faults. */
const ARGUMENTS = ['--enable-debug-command', 'local'];

/** Holdfast requires these settings with replicas: one of two masters in a split soon refuses writes. */
const PROTECTED = ['--min-replicas-to-write', '1', '--min-replicas-max-lag', '10'];

/** Starts the store of a round. */
export async function openStore(
  { topology, appendfsync }: RoundPlan,
  clocks: Clocks | undefined,
): Promise<SuiteStore> {
  // All nodes share one clock, so that no node lags behind another by more than a failover may cost.
  const env = clocks?.store.env ?? {};
  switch (topology) {
    case 'sentinel':
      return SentinelStore.start({ args: [...ARGUMENTS, ...PROTECTED], env });
    case 'cluster':
      return ClusterStore.start({ args: [...ARGUMENTS, ...PROTECTED], env });
    case 'one':
      return OneRedis.start({ appendfsync, args: ARGUMENTS, env });
  }
}
