import type { Clocks } from '../clock-shim/clocks';
import type { RoundPlan } from '../plan';
import { ClusterStore } from './cluster-store';
import { OneRedis } from './one-redis';
import { SentinelStore } from './sentinel-store';
import type { SuiteStore } from './store';

/** Allows the command DEBUG SLEEP, which a fault uses. */
const ARGUMENTS = ['--enable-debug-command', 'local'];

/** The settings that Holdfast requires with replicas. In a split, one of the two masters soon refuses writes. */
const PROTECTED = ['--min-replicas-to-write', '1', '--min-replicas-max-lag', '10'];

export async function openStore(
  { topology, appendfsync }: RoundPlan,
  clocks: Clocks | undefined,
): Promise<SuiteStore> {
  // All nodes share one clock, so that a failover changes the time of the store only a little.
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
