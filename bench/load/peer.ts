/** Runs a system that Holdfast is compared with, and measures its calls. */
import { peers, type PeerName } from '../peers';
import type { Ask, Engine } from '../peers/peer';
import { itemsOf, type Corpus } from '../words/corpus';
import { words } from '../words/words';
import { serveTasks } from './serve-tasks';
import { timed, type Timed } from './timed';

let engine: Engine | undefined;

function opened(): Engine {
  if (engine === undefined) throw new Error('call open first');
  return engine;
}

function keyOf({ of, count }: Corpus): string {
  return `${of}-${count}`;
}

/** Repeats the calls for this time, with this number of calls in flight. Resolves to the number of calls. */
async function repeated(forMs: number, clients: number, call: (index: number) => Promise<unknown>) {
  const startedAt = performance.now();
  let count = 0;
  const client = async () => {
    do await call(count++);
    while (performance.now() < startedAt + forMs);
  };
  await Promise.all(Array.from({ length: clients }, client));
  return count;
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
  searchFor: ({ corpus, ask, queries, forMs, clients }: PeerQueries & { forMs: number; clients: number }) =>
    repeated(forMs, clients, (index) =>
      opened().find(keyOf(corpus), ask, queries[index % queries.length] as string),
    ),
  emptyFor: ({ forMs, clients }: { forMs: number; clients: number }) =>
    repeated(forMs, clients, () => opened().empty()),
  oneByOne: ({ corpus, ask, queries, forMs }: PeerQueries & { forMs: number }): Promise<Timed<string[]>> =>
    timed(queries, (query) => opened().find(keyOf(corpus), ask, query), forMs),
};

export type PeerTasks = typeof tasks;

serveTasks(tasks);
