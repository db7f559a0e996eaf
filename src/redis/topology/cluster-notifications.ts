import type { ClusterAddress } from '../../base/redis-address';
import { nodeEndpoint, type Security } from '../endpoint';
import type { RedisCluster } from './cluster';
import { hostOf } from './cluster-view';
import { Notifications, type NotificationsOptions } from './notifications';

export interface ClusterNotificationsOptions extends Omit<
  NotificationsOptions,
  'endpoint' | 'buckets' | 'onMoved'
> {
  readonly cluster: RedisCluster;
  readonly address: ClusterAddress;
  readonly security: Security;
}

/** Listens at each master of a Cluster for the buckets of that master: 1,024 subscriptions in all. */
export class ClusterNotifications {
  private readonly listeners = new Map<string, Notifications>();
  /** Nodes that do not let this server subscribe. */
  private readonly refusing = new Set<string>();
  private closed = false;

  constructor(private readonly options: ClusterNotificationsOptions) {
    options.cluster.onLayout(() => this.followLayout());
    this.followLayout();
  }

  close(): void {
    this.closed = true;
    for (const listener of this.listeners.values()) listener.close();
  }

  private followLayout(): void {
    if (this.closed) return;
    const masters = new Set(this.options.cluster.masters);
    for (const [address, listener] of this.listeners) {
      if (masters.has(address)) continue;
      listener.close();
      this.listeners.delete(address);
      this.setAllowed(address, true);
    }
    for (const address of masters) {
      const known = this.listeners.get(address);
      if (known) known.subscribe();
      else this.listeners.set(address, this.listen(address));
    }
  }

  private listen(address: string): Notifications {
    const { cluster, security } = this.options;
    return new Notifications({
      ...this.options,
      endpoint: nodeEndpoint(this.options.address, hostOf(address), security),
      buckets: () => cluster.bucketsOf(address),
      onAllowed: (allowed) => this.setAllowed(address, allowed),
      onMoved: () => cluster.refresh(),
    });
  }

  private setAllowed(address: string, allowed: boolean): void {
    if (allowed) this.refusing.delete(address);
    else this.refusing.add(address);
    this.options.onAllowed?.(this.refusing.size === 0);
  }
}
