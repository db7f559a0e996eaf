import { Redis } from 'ioredis';
import type { Endpoint, RedisOptions } from '../address';

/** Of ioredis's own commands (PING, INFO): a slow disk is no reason to cut the connection ... */
const SHORTEST_TIMEOUT_MS = 1000;
/** ... but a half-open one is to be found out before the leases end that are renewed through it. */
const LONGEST_TIMEOUT_MS = 2000;
/** How long a connection that is given up may take to end in order; then it is destroyed. */
const DISCONNECT_TIMEOUT_MS = 50;

/**
 * Without `socketTimeout`, which would be wound up anew by each command: the PING ends a connection that does
 * not answer.
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
    retryStrategy: (attempt: number) => Math.min(10 * 2 ** Math.min(attempt, 10), 500),
  } satisfies RedisOptions;
}

/** A client of ioredis, with the options that keep locks safe. */
export function openClient(endpoint: Endpoint, options: RedisOptions): Redis {
  return typeof endpoint === 'string' ? new Redis(endpoint, options) : new Redis({ ...options, ...endpoint });
}
