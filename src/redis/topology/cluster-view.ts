import type { RedisHost } from '../../base/redis-address';
import type { Redirection } from '../failure-class';
import { SLOT_COUNT } from '../buckets';

/** The Cluster as one of its nodes sees it. */
export interface ClusterView {
  /** The number of the Cluster's last change. A node that was cut off has a lower number. */
  readonly epoch: number;
  /** True if this node reports a working Cluster. */
  readonly working: boolean;
  /** The master of each slot, as `host:port`; undefined: the slot has no master. */
  readonly owners: readonly (string | undefined)[];
  /** Masters and replicas, as `host:port`. */
  readonly members: ReadonlySet<string>;
}

export function addressOf({ host, port }: RedisHost): string {
  return `${host}:${port}`;
}

/** The port follows the last colon. An IPv6 address has no brackets here. */
export function hostOf(address: string): RedisHost {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
}

/** The node that a redirection names. The node at `from` leaves the host out if it does not know its own address. */
export function redirectedAddress({ host, port }: Redirection, from: string): string {
  return addressOf({ host: knownHost(host, from), port });
}

function knownHost(host: unknown, from: string): string {
  return typeof host === 'string' && host !== '' && host !== '?' ? host : hostOf(from).host;
}

/** Reads the replies of the node at `from` to CLUSTER INFO and CLUSTER SLOTS. */
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

/** The most trustworthy view: a view of a working Cluster if there is one, and then the view with the newest change. */
export function bestOf(views: readonly ClusterView[]): ClusterView | undefined {
  return [...views].sort((a, b) => Number(b.working) - Number(a.working) || b.epoch - a.epoch)[0];
}
