/** Runs a system that Holdfast is compared with, and measures its calls. */
import { peers, type PeerName } from '../peers';
import type { Ask, Engine } from '../peers/peer';
import { itemsOf, type Corpus } from '../words/corpus';
import { words } from '../words/words';
import { repeatedFor, timed, type Span, type Timed } from './in-flight';
import { serveTasks } from './serve-tasks';

let engine: Engine | undefined;

function opened(): Engine {
  if (engine === undefined) throw new Error('call open first');
  return engine;
}

function keyOf({ of, count }: Corpus): string {
  return `${of}-${count}`;
}

export interface PeerQueries {
  readonly corpus: Corpus;
  readonly ask: Ask;
  readonly queries: readonly string[];
}

const tasks = {
  open: async ({ name }: { name: PeerName }) => {
    const found = await peers[name].open();
    if ('missing' in found) return found;
    engine = found;
    return { pid: found.pid, version: found.version };
  },
  load: async ({ corpus }: { corpus: Corpus }) => {
    await opened().load(keyOf(corpus), itemsOf(await words(), corpus));
  },
  /** Resolves to the number of queries. */
  searchFor: async ({ corpus, ask, queries, ...span }: PeerQueries & Span) => {
    const find = (index: number) =>
      opened().find(keyOf(corpus), ask, queries[index % queries.length] as string);
    return (await repeatedFor(span, find)).count;
  },
  emptyFor: async (span: Span) => (await repeatedFor(span, () => opened().empty())).count,
  oneByOne: ({ corpus, ask, queries, forMs }: PeerQueries & { forMs: number }): Promise<Timed<string[]>> =>
    timed(queries, (query) => opened().find(keyOf(corpus), ask, query), forMs),
};

export type PeerTasks = typeof tasks;

serveTasks(tasks);
