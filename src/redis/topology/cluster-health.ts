import type { StoreHealth } from '../../base/store-health';
import { SLOT_COUNT } from '../buckets';

/** The state of all nodes together. */
export interface ClusterHealth {
  /** True if the nodes that answer have at least half of the slots. */
  readonly reachable: boolean;
  readonly suitable: boolean;
  readonly warnings: readonly string[];
  /** True if every slot has a node that answers. */
  readonly whole: boolean;
}

/** `new`: the node has not had enough time to answer. */
type NodeHealth = Pick<StoreHealth, 'reachable' | 'suitable' | 'warnings'> | 'new';

/**
 * The server stays ready while a node is down: calls for names on the other nodes succeed, and no other server could
 * serve the names of the lost node. If the nodes that answer own less than half of the slots, this server itself is
 * probably cut off.
 */
export function clusterHealth(
  owners: readonly (string | undefined)[],
  nodeAt: (address: string) => NodeHealth,
): ClusterHealth {
  const slots = new Map<string, number>();
  for (const owner of owners) if (owner !== undefined) slots.set(owner, (slots.get(owner) ?? 0) + 1);
  let answering = 0;
  let suitable = true;
  const down: string[] = [];
  const addressesByWarning = new Map<string, string[]>();
  for (const [address, count] of slots) {
    const node = nodeAt(address);
    if (node === 'new') continue;
    if (!node.reachable) {
      down.push(
        `the node ${address} of the store does not answer: ${percentOf(count)} of all names are unavailable; restart the node, or let a replica take over`,
      );
      continue;
    }
    answering += count;
    suitable &&= node.suitable;
    for (const warning of node.warnings) {
      const addresses = addressesByWarning.get(warning);
      if (addresses) addresses.push(address);
      else addressesByWarning.set(warning, [address]);
    }
  }
  const covered = [...slots.values()].reduce((sum, count) => sum + count, 0);
  if (owners.length > 0 && covered < SLOT_COUNT) {
    down.push(
      `no node of the store owns ${percentOf(SLOT_COUNT - covered)} of all names, which are unavailable; assign their slots to a node`,
    );
  }
  const ofNodes = [...addressesByWarning].map(([warning, addresses]) =>
    addresses.length === slots.size ? warning : `${warning} (${addresses.sort().join(', ')})`,
  );
  return {
    reachable: 2 * answering >= SLOT_COUNT,
    suitable,
    warnings: [...down.sort(), ...ofNodes],
    whole: answering === SLOT_COUNT,
  };
}

function percentOf(slots: number): string {
  return `${Math.max(1, Math.round((100 * slots) / SLOT_COUNT))} %`;
}

export function isSameHealth(a: ClusterHealth, b: ClusterHealth): boolean {
  return (
    a.reachable === b.reachable &&
    a.suitable === b.suitable &&
    a.warnings.join('\n') === b.warnings.join('\n')
  );
}
