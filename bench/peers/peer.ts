import type { Missing, Yardstick } from '../support/yardsticks';
import type { Item } from '../words/corpus';

/** The ways in which entries are asked for. */
export type Ask = 'prefix' | 'word prefix' | 'suffix' | 'contains' | 'typo';

/** What a system of suggestions can do. */
export type Ability = Ask | 'best by weight' | 'later pages' | 'a write is seen at once';

/** A running system with entries of some corpora. */
export interface Engine {
  readonly version: string;
  /** The process that searches. */
  readonly pid: number;
  load(corpus: string, items: Iterable<Item>): Promise<void>;
  /** Resolves to the ids of at most ten entries, the best first. The query is folded. */
  find(corpus: string, ask: Ask, query: string): Promise<string[]>;
  /** A request that searches nothing. */
  empty(): Promise<void>;
  /** Ends the processes of this system. */
  close(): Promise<void>;
}

export interface Peer extends Yardstick<Ability> {
  /** The fewest letters of a query that this peer answers. Undefined: the peer cannot answer this kind of query. */
  readonly shortest: Readonly<Partial<Record<Ask, number>>>;
  /** Resolves to the reason if this machine cannot have this peer. */
  open(): Promise<Engine | Missing>;
}
