import { Redis } from 'ioredis';
import type { Clock, Timer } from '../base/clock';
import type { RedisEndpoint, RedisOptions } from './endpoint';
import { isReplyError } from './failure-class';

/** The shortest timeout of ioredis's own commands (PING, INFO): a slow disk must not end the connection. */
const SHORTEST_TIMEOUT_MS = 1000;
/** The longest such timeout: a half-open connection must be found before the leases of its holders end. */
const LONGEST_TIMEOUT_MS = 2000;
/** How long an abandoned connection may take to close, before it is destroyed. */
const DISCONNECT_TIMEOUT_MS = 50;

/** How long operations wait for a connection that is down. */
export const RECONNECT_PATIENCE_MS = 1000;
/** The longest pause between two attempts to connect while operations wait. */
const LONGEST_PAUSE_WHILE_WAITING_MS = 100;
/** The pause between two later attempts. */
const LONGEST_PAUSE_MS = 500;
/** The number of attempts with short pauses. These pauses together last longer than `RECONNECT_PATIENCE_MS`. */
const ATTEMPTS_WHILE_WAITING = 12;

/** The pause after a failed attempt to connect (ms). `attempt` counts from 1. */
function reconnectPauseMs(attempt: number): number {
  if (attempt > ATTEMPTS_WHILE_WAITING) return LONGEST_PAUSE_MS;
  return Math.min(10 * 2 ** attempt, LONGEST_PAUSE_WHILE_WAITING_MS);
}

/**
 * Options of ioredis that keep locks safe: ioredis queues nothing while the connection is down, and sends nothing twice.
 * There is no `socketTimeout`, because each command would restart it. An unanswered PING ends the connection instead.
 */
export function safeOptions(commandTimeoutMs: number) {
  return {
    protocol: 2 as const,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: Math.min(Math.max(commandTimeoutMs, SHORTEST_TIMEOUT_MS), LONGEST_TIMEOUT_MS),
    connectTimeout: commandTimeoutMs,
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    stringNumbers: true,
    // Redis 7.0 does not have the command for this information, and the Redis user may not run it.
    disableClientInfo: true,
    retryStrategy: reconnectPauseMs,
  } satisfies RedisOptions;
}

function newClient(endpoint: RedisEndpoint, options: RedisOptions): Redis {
  if (typeof endpoint === 'string') return new Redis(endpoint, options);
  const { follows, ...target } = endpoint;
  // The first connection already needs the password.
  const password = follows?.present;
  const client = new Redis({ ...options, ...target, ...(password !== undefined && { password }) });
  follows?.follow(client);
  return client;
}

export function openClient(endpoint: RedisEndpoint, options: RedisOptions): Redis {
  const client = newClient(endpoint, options);
  // ioredis reports a database that Redis does not have, and would continue with database 0, which may have other data.
  client.on('error', (error: Error & { command?: { name: string } }) => {
    if (error.command?.name === 'select') client.disconnect(true);
  });
  return client;
}

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
