import type { Redis } from 'ioredis';
import type { Clock, Timer } from '../../base/clock';
import { Rounds } from '../../flow/rerun';
import type { ClusterAddress } from '../../base/redis-address';
import { BUCKET_COUNT, wakeChannel } from '../buckets';
import { nodeEndpoint, type RedisEndpoint, type Security } from '../endpoint';
import { isNotPermitted } from '../failure-class';
import { openClient, safeOptions } from '../redis-client';
import type { RedisCluster } from './cluster';
import { hostOf } from './cluster-watch';

export interface NotificationsOptions {
  readonly endpoint: RedisEndpoint;
  /**
   * The present buckets of this node of a Cluster, grouped by slot, because all channels of an SSUBSCRIBE must be in one
   * slot. Undefined: the node has all buckets.
   */
  readonly buckets?: () => readonly (readonly number[])[];
  readonly prefix: string;
  readonly serverId: string;
  readonly commandTimeoutMs: number;
  readonly clock: Clock;
  readonly onMessage: (message: string) => void;
  /** Called after each subscription: whether this Redis lets the server subscribe. */
  readonly onAllowed?: (allowed: boolean) => void;
  /** Called when a slot has moved away from this node. */
  readonly onMoved?: () => void;
  readonly onError: (error: Error) => void;
}

const PING_INTERVAL_MS = 5000;
/** Slots that move within this time share one resubscription. */
const RESUBSCRIBE_PAUSE_MS = 100;
const ALL_BUCKETS: readonly (readonly number[])[] = [Array.from({ length: BUCKET_COUNT }, (_, i) => i)];

/**
 * Receives the messages of scripts to this server, on a channel for each bucket. In a Cluster the server listens at the
 * node where the script runs, so no node forwards messages to other nodes. A message is a hint: if a message is lost
 * while the connection is down or a slot moves, the next touch or renewal finds the same news.
 */
export class Notifications {
  private readonly client: Redis;
  private readonly rounds: Rounds;
  private closed = false;
  /** Groups of buckets that this connection has subscribed to, joined by commas. */
  private readonly subscribed = new Set<string>();
  private resubscribing: Timer | undefined;

  constructor(private readonly options: NotificationsOptions) {
    const { endpoint, commandTimeoutMs, onMessage, onError } = options;
    this.client = openClient(endpoint, { ...safeOptions(commandTimeoutMs), autoResubscribe: false });
    this.client.on('error', onError);
    this.client.on('smessage', (_channel: string, message: string) => onMessage(message));
    this.client.on('ready', () => {
      this.subscribed.clear();
      this.subscribe();
    });
    // A slot has moved: Redis has ended the slot's subscriptions, or refuses a new subscription.
    this.client.on('moved', () => this.onMoved());
    const { clock } = options;
    this.rounds = new Rounds({ clock, pauseMs: PING_INTERVAL_MS, onError }, () => this.ping());
  }

  /** Subscribes to the buckets of this node that have no subscription yet. */
  subscribe(): void {
    if (this.client.status !== 'ready') return;
    for (const group of this.options.buckets?.() ?? ALL_BUCKETS) this.subscribeTo(group);
  }

  private subscribeTo(group: readonly number[]): void {
    const { prefix, serverId, onAllowed, onError } = this.options;
    const key = group.join();
    if (this.subscribed.has(key)) return;
    this.subscribed.add(key);
    const channels = group.map((bucket) => wakeChannel(prefix, bucket, serverId));
    this.client.ssubscribe(...channels).then(
      () => onAllowed?.(true),
      (error: Error) => {
        this.subscribed.delete(key);
        onError(error);
        if (isNotPermitted(error)) onAllowed?.(false);
      },
    );
  }

  private onMoved(): void {
    this.options.onMoved?.();
    this.resubscribing ??= this.options.clock.after(RESUBSCRIBE_PAUSE_MS, () => {
      this.resubscribing = undefined;
      // Redis does not say which subscriptions have ended, and a second subscription does no harm.
      this.subscribed.clear();
      if (!this.closed) this.subscribe();
    });
  }

  /** A connection without an answer to PING is half open, and is replaced. */
  private async ping(): Promise<void> {
    const ready = this.client.status === 'ready';
    this.subscribe();
    if (!ready) return;
    await this.client.ping().catch(() => {
      if (!this.closed) this.client.disconnect(true);
    });
  }

  close(): void {
    this.closed = true;
    this.rounds.end();
    this.resubscribing?.cancel();
    this.client.disconnect();
  }
}

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
