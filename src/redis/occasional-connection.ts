import type { Redis } from 'ioredis';
import type { Clock, Timer } from '../base/clock';
import { openClient, safeOptions } from './client';
import type { RedisEndpoint } from './endpoint';
import { isReplyError } from './failure-class';

export interface OccasionalConnectionOptions {
  readonly endpoint: RedisEndpoint;
  readonly commandTimeoutMs: number;
  readonly clock: Clock;
  readonly onError: (error: Error) => void;
}

/** An unused connection is closed after this time: a firewall may silently end an idle connection. */
const IDLE_MS = 10_000;

/**
 * A connection for rare commands that may block it. The connection opens for its first use, and closes when nobody has
 * used it for a while. Uses must not overlap.
 */
export class OccasionalConnection {
  /** When the present connection was opened (ms, monotonic clock). */
  openedAt = -Infinity;
  private client: Redis | undefined;
  private idleTimer: Timer | undefined;
  private closed = false;

  constructor(private readonly options: OccasionalConnectionOptions) {}

  /** Runs commands. After `timeoutMs` the connection is closed, and its unanswered commands fail. */
  async use<T>(work: (client: Redis) => Promise<T>, timeoutMs: number): Promise<T> {
    const { clock } = this.options;
    this.idleTimer?.cancel();
    let isOver = false;
    const timer = clock.after(timeoutMs, () => {
      isOver = true;
      this.disconnect();
    });
    try {
      return await work(await this.connected(() => isOver));
    } catch (error) {
      // The connection may be lost, half open, or blocked by a command.
      if (!isReplyError(error)) this.disconnect();
      throw error;
    } finally {
      timer.cancel();
      if (!this.closed) this.idleTimer = clock.after(IDLE_MS, () => this.disconnect());
    }
  }

  /** Closes the present connection. The next use opens a new connection. */
  disconnect(): void {
    if (this.client && !isDown(this.client)) this.client.disconnect();
  }

  close(): void {
    this.closed = true;
    this.idleTimer?.cancel();
    this.disconnect();
  }

  private async connected(isOver: () => boolean): Promise<Redis> {
    const before = this.client;
    if (before?.status === 'ready') return before;
    // One connection at a time.
    if (before && !isDown(before)) await new Promise((resolve) => before.once('end', resolve));
    if (this.closed || isOver()) throw new Error('there is no connection');
    this.openedAt = this.options.clock.now();
    // A new client, because the password may have changed.
    const client = (this.client = this.open());
    await client.connect();
    return client;
  }

  private open(): Redis {
    const { endpoint, commandTimeoutMs, onError } = this.options;
    const client = openClient(endpoint, {
      ...safeOptions(commandTimeoutMs),
      // `use` has the timeout, because a command may block for longer than a PING may take.
      commandTimeout: undefined,
      lazyConnect: true,
      enableReadyCheck: false,
      retryStrategy: () => null,
    });
    client.on('error', onError);
    return client;
  }
}

/** True if the client has no connection, and opens no connection by itself. */
function isDown({ status }: Redis): boolean {
  return status === 'wait' || status === 'end';
}
