import type { StoreHealth } from '../../engine/store-health';
import { SLOT_COUNT } from '../keys';

/** A Cluster as one store: the state of all its nodes together. */
export interface ClusterHealth {
  /** The nodes that answer have at least half of the names: the server is of use. */
  readonly reachable: boolean;
  readonly suitable: boolean;
  readonly warnings: readonly string[];
  /** Every slot has a node that answers. */
  readonly whole: boolean;
}

/** 'new': it has not had the time to answer. */
type NodeHealth = Pick<StoreHealth, 'reachable' | 'suitable' | 'warnings'> | 'new';

/**
 * One node that is down takes its names with it and leaves the others alone, so the server stays ready, for no other
 * server would do better; with less than half it is more likely the server that is cut off.
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
  const complaints = new Map<string, string[]>();
  for (const [address, count] of slots) {
    const node = nodeAt(address);
    if (node === 'new') continue;
    if (!node.reachable) {
      down.push(
        `the node ${address} of the store does not answer: ${share(count)} of all names are unavailable`,
      );
      continue;
    }
    answering += count;
    suitable &&= node.suitable;
    for (const warning of node.warnings) {
      const known = complaints.get(warning);
      if (known) known.push(address);
      else complaints.set(warning, [address]);
    }
  }
  const covered = [...slots.values()].reduce((sum, count) => sum + count, 0);
  if (owners.length > 0 && covered < SLOT_COUNT) {
    down.push(`no node of the store is in charge of ${share(SLOT_COUNT - covered)} of all names`);
  }
  const said = [...complaints].map(([warning, addresses]) =>
    addresses.length === slots.size ? warning : `${warning} (${addresses.sort().join(', ')})`,
  );
  return {
    reachable: 2 * answering >= SLOT_COUNT,
    suitable,
    warnings: [...down.sort(), ...said],
    whole: answering === SLOT_COUNT,
  };
}

function share(slots: number): string {
  return `${Math.max(1, Math.round((100 * slots) / SLOT_COUNT))} %`;
}

export function isSameHealth(a: ClusterHealth, b: ClusterHealth): boolean {
  return (
    a.reachable === b.reachable &&
    a.suitable === b.suitable &&
    a.warnings.join('\n') === b.warnings.join('\n')
  );
}
