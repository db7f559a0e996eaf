import type { Redis } from 'ioredis';
import type { Clock, Timer } from '../../engine/clock';
import type { Resource } from '../../engine/leases/lease';
import type { Endpoint } from '../address';
import { openClient, safeOptions } from '../connection/client';
import { BUCKET_COUNT, resourceOfStateKey, wakeChannel } from '../keys';

export interface NotificationsOptions {
  readonly url: Endpoint;
  /** The buckets that this node of a Cluster has now, by slot, for one SSUBSCRIBE has one slot; undefined: it has all. */
  readonly buckets?: () => readonly (readonly number[])[];
  readonly prefix: string;
  readonly serverId: string;
  readonly commandTimeoutMs: number;
  readonly clock: Clock;
  readonly onLook: (resource: Resource, requestId: string) => void;
  /** Whether this Redis lets us subscribe, each time that is found out. */
  readonly onAllowed?: (allowed: boolean) => void;
  /** This node has not, or not any more, what `buckets` says. */
  readonly onMoved?: () => void;
  readonly onError: (error: Error) => void;
}

const REQUEST_ID_LENGTH = 36;
const PING_INTERVAL_MS = 5000;
/** Whatever is told of slots that move within so long is seen to at once. */
const RESUBSCRIBE_PAUSE_MS = 100;
const ALL_BUCKETS: readonly (readonly number[])[] = [Array.from({ length: BUCKET_COUNT }, (_, i) => i)];

/**
 * Hears which requests of this server to look at again, on a channel for each bucket: so in a Cluster it hears at the
 * very node where a script runs, and no node passes a word on to others. Only hints come this way: whatever is lost
 * while the connection is down or a slot moves, the next touch or renewal brings.
 */
export class Notifications {
  private readonly client: Redis;
  private timer: Timer | undefined;
  private closed = false;
  /** What has been asked for on this connection, a number for each group of channels. */
  private readonly subscribed = new Set<string>();
  private resubscribing: Timer | undefined;

  constructor(private readonly options: NotificationsOptions) {
    const { url, prefix, commandTimeoutMs, onLook, onError } = options;
    this.client = openClient(url, { ...safeOptions(commandTimeoutMs), autoResubscribe: false });
    this.client.on('error', onError);
    this.client.on('smessage', (_channel: string, message: string) => {
      const resource = resourceOfStateKey(prefix, message.slice(REQUEST_ID_LENGTH));
      if (resource) onLook(resource, message.slice(0, REQUEST_ID_LENGTH));
    });
    this.client.on('ready', () => {
      this.subscribed.clear();
      this.subscribe();
    });
    // Redis has ended subscriptions whose slot has gone elsewhere, or refuses one for that.
    this.client.on('moved', () => this.moved());
    this.watch();
  }

  /** Subscribes to what this node has by now and is not subscribed to. */
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
        if (error.message.startsWith('NOPERM')) onAllowed?.(false);
      },
    );
  }

  private moved(): void {
    this.options.onMoved?.();
    this.resubscribing ??= this.options.clock.after(RESUBSCRIBE_PAUSE_MS, () => {
      this.resubscribing = undefined;
      // Which ones have ended it does not say; to subscribe twice does no harm.
      this.subscribed.clear();
      if (!this.closed) this.subscribe();
    });
  }

  /** A connection that answers no ping is half open: another one is made. */
  private watch(): void {
    this.timer = this.options.clock.after(PING_INTERVAL_MS, () => {
      const ready = this.client.status === 'ready';
      this.subscribe();
      const answered = ready ? this.client.ping() : Promise.resolve();
      answered
        .catch(() => {
          if (!this.closed) this.client.disconnect(true);
        })
        .then(() => {
          if (!this.closed) this.watch();
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
