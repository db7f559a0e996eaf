import type { Clocks } from '../clock-shim/clocks';
import type { RoundPlan } from '../plan';
import { OneRedis } from './one-redis';
import type { SuiteStore } from './store';

/** DEBUG SLEEP is one of the faults. */
const ARGUMENTS = ['--enable-debug-command', 'local'];

/** Starts the store of a round. */
export async function openStore(
  { topology, appendfsync }: RoundPlan,
  clocks: Clocks | undefined,
): Promise<SuiteStore> {
  switch (topology) {
    case 'one':
      return OneRedis.start({ appendfsync, args: ARGUMENTS, ...(clocks && { env: clocks.store.env }) });
  }
}
