import type { Redis } from 'ioredis';
import type { Clock, Timer } from '../../base/clock';
import { openClient, safeOptions } from '../client';
import type { RedisEndpoint } from '../endpoint';
import { isNotPermitted } from '../failure-class';
import { BUCKET_COUNT, wakeChannel } from '../buckets';

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
  private timer: Timer | undefined;
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
    this.schedulePing();
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
  private schedulePing(): void {
    this.timer = this.options.clock.after(PING_INTERVAL_MS, () => {
      const ready = this.client.status === 'ready';
      this.subscribe();
      const answered = ready ? this.client.ping() : Promise.resolve();
      answered
        .catch(() => {
          if (!this.closed) this.client.disconnect(true);
        })
        .then(() => {
          if (!this.closed) this.schedulePing();
        })
        .catch(this.options.onError);
    });
  }

  close(): void {
    this.closed = true;
    this.timer?.cancel();
    this.resubscribing?.cancel();
    this.client.disconnect();
  }
}
