import type { Host } from '../address';
import { SLOT_COUNT } from '../keys';

/** What a node of a Cluster says of it. */
export interface ClusterView {
  /** Of the Cluster's last change; a node that was cut off has an older one. */
  readonly epoch: number;
  /** The node counts itself as a part of a Cluster that works. */
  readonly working: boolean;
  /** The master of each slot, as `host:port`; undefined: it has none. */
  readonly owners: readonly (string | undefined)[];
  /** Masters and replicas, as `host:port`. */
  readonly members: ReadonlySet<string>;
}

export function addressOf({ host, port }: Host): string {
  return `${host}:${port}`;
}

/** The port follows the last colon: an IPv6 address has no brackets here. */
export function hostOf(address: string): Host {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
}

/** What MOVED and ASK say: `MOVED 3999 host:port`. A node that does not know the host leaves it out: it is its own. */
export function redirection(word: string, from: string): { slot: number; address: string } | undefined {
  const [, slot, host, port] = /^(?:MOVED|ASK) (\d+) (\S*):(\d+)/.exec(word) ?? [];
  if (slot === undefined || host === undefined) return undefined;
  return { slot: Number(slot), address: addressOf({ host: knownHost(host, from), port: Number(port) }) };
}

function knownHost(host: unknown, from: string): string {
  return typeof host === 'string' && host !== '' && host !== '?' ? host : hostOf(from).host;
}

/** From the replies to CLUSTER INFO and CLUSTER SLOTS of the node at `from`. */
export function readView(info: unknown, slots: unknown, from: string): ClusterView {
  const field = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(String(info))?.[1];
  const owners: (string | undefined)[] = Array.from({ length: SLOT_COUNT }, () => undefined);
  const members = new Set<string>();
  for (const [first, last, ...nodes] of slots as [string, string, ...unknown[][]][]) {
    const addresses = nodes.map(([host, port]) =>
      addressOf({ host: knownHost(host, from), port: Number(port) }),
    );
    for (const address of addresses) members.add(address);
    const [master] = addresses;
    owners.fill(master, Number(first), Number(last) + 1);
  }
  return {
    epoch: Number(field('cluster_current_epoch') ?? 0),
    working: field('cluster_state') === 'ok',
    owners,
    members,
  };
}

/** Whom to believe: a node that works rather than one that does not, then the one that knows of the last change. */
export function bestOf(views: readonly ClusterView[]): ClusterView | undefined {
  return [...views].sort((a, b) => Number(b.working) - Number(a.working) || b.epoch - a.epoch)[0];
}
