import { Redis } from 'ioredis';
import type { Clock, Timer } from '../engine/clock';
import type { Resource } from '../engine/lease';
import { safeOptions } from './connection';
import { resourceOfStateKey, wakeChannel } from './keys';

export interface NotificationsOptions {
  readonly url: string;
  readonly prefix: string;
  readonly serverId: string;
  readonly commandTimeoutMs: number;
  readonly clock: Clock;
  readonly onLook: (resource: Resource, requestId: string) => void;
  /** Whether this Redis lets us subscribe, each time that is found out. */
  readonly onAllowed?: (allowed: boolean) => void;
  readonly onError: (error: Error) => void;
}

const REQUEST_ID_LENGTH = 36;
const PING_INTERVAL_MS = 5000;

/**
 * Hears which requests of this server to look at again. Only hints come this way: whatever is lost while the
 * connection is down, the next touch or renewal brings.
 */
export class Notifications {
  private readonly client: Redis;
  private timer: Timer | undefined;
  private closed = false;
  private subscribed = false;

  constructor(private readonly options: NotificationsOptions) {
    const { url, prefix, commandTimeoutMs, onLook, onError } = options;
    this.client = new Redis(url, { ...safeOptions(commandTimeoutMs), autoResubscribe: false });
    this.client.on('error', onError);
    this.client.on('message', (_channel: string, message: string) => {
      const resource = resourceOfStateKey(prefix, message.slice(REQUEST_ID_LENGTH));
      if (resource) onLook(resource, message.slice(0, REQUEST_ID_LENGTH));
    });
    this.client.on('ready', () => this.subscribe());
    this.watch();
  }

  private subscribe(): void {
    const { prefix, serverId, onAllowed, onError } = this.options;
    this.client.subscribe(wakeChannel(prefix, serverId)).then(
      () => {
        this.subscribed = true;
        onAllowed?.(true);
      },
      (error: Error) => {
        this.subscribed = false;
        onError(error);
        if (error.name === 'ReplyError') onAllowed?.(false);
      },
    );
  }

  /** A connection that answers no ping is half open: another one is made. */
  private watch(): void {
    this.timer = this.options.clock.after(PING_INTERVAL_MS, () => {
      const ready = this.client.status === 'ready';
      if (ready && !this.subscribed) this.subscribe();
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
    this.client.disconnect();
  }
}
