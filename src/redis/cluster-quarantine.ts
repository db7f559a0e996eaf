import { StoreFailure } from '../engine/errors';
import type { Quarantine } from '../engine/store';
import { askView } from './cluster-watch';
import type { RedisNode } from './node';

/** By so much a node's clock may be ahead of another's whose buckets it is given: what is tolerated of a step, too. */
const MOST_AHEAD_MS = 100;

/**
 * Runs of Redis from which buckets may have been moved to a node as they were: of masters that it names as such itself
 * and that run on. One whose place it has taken has no slots any more, as far as it knows. A clock that is behind this
 * node's would let leases end early here.
 */
export async function giversTo(
  address: string,
  nodeAt: (address: string) => RedisNode | undefined,
): Promise<string[]> {
  const target = nodeAt(address);
  if (!target?.connection.isReady) return [];
  const { connection, epochs } = target;
  const view = await askView({ address, ask: (...command) => connection.ask(...command) }).catch(
    (cause: unknown) => {
      throw new StoreFailure('no', 'unavailable', { cause });
    },
  );
  if (!view.working) return [];
  const masters = new Set(view.owners);
  masters.delete(address);
  return [...masters].flatMap((master) => {
    const giver = master === undefined ? undefined : nodeAt(master);
    if (!giver?.connection.isReady || !giver.reachable || giver.epochs.run === undefined) return [];
    return epochs.clock - giver.epochs.clock <= MOST_AHEAD_MS ? [giver.epochs.run] : [];
  });
}

export function longestOf(all: readonly (Quarantine | undefined)[]): Quarantine | undefined {
  return all.reduce((a, b) => ((b?.remainingMs ?? 0) > (a?.remainingMs ?? 0) ? b : a), undefined);
}

/** At all nodes that answer: what had the longest to go. */
export async function endQuarantines(nodes: readonly RedisNode[]): Promise<Quarantine | undefined> {
  const answering = nodes.filter(({ reachable }) => reachable);
  if (answering.length === 0) throw new StoreFailure('no', 'unavailable');
  const settled = await Promise.allSettled(answering.map((node) => node.endQuarantine()));
  return longestOf(
    settled.map((one) => {
      if (one.status === 'fulfilled') return one.value;
      // What one refused others have done.
      throw new StoreFailure('unknown', 'unavailable', { cause: one.reason });
    }),
  );
}
