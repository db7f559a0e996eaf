import type { Load, Strategy } from './options';
import type { Tally } from './tally';

/** The task of a process of traders. */
export interface Assignment extends Load {
  readonly strategy: Strategy;
  readonly redisUrl: string;
  /** The prefix of every key. */
  readonly prefix: string;
  readonly servers: readonly string[];
  /** The number of this process, from 0. */
  readonly process: number;
}

/**
 * The messages to a process of traders: first `connect`; `open` as soon as every process is connected; `close`, to end
 * the trading early.
 */
export type ToTraders =
  { readonly kind: 'connect'; readonly assignment: Assignment } | { readonly kind: 'open' | 'close' };

export type FromTraders =
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly tally: Tally }
  | { readonly kind: 'failed'; readonly text: string };
