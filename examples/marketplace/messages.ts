import type { Load, Way } from './options';
import type { Tally } from './tally';

/** What a process of traders is to do. */
export interface Assignment extends Load {
  readonly way: Way;
  readonly redisUrl: string;
  /** Goes before every key. */
  readonly prefix: string;
  readonly servers: readonly string[];
  /** Which of the processes this is, from 0. */
  readonly process: number;
}

/** The market opens when all are there. */
export type ToTraders =
  { readonly kind: 'come'; readonly assignment: Assignment } | { readonly kind: 'open' | 'close' };

export type FromTraders =
  | { readonly kind: 'here' }
  | { readonly kind: 'done'; readonly tally: Tally }
  | { readonly kind: 'failed'; readonly text: string };
