/** Completes names of a sorted set without a server, with the chapter's markers. */
import { Redis } from 'ioredis';
import { MarkerCompletion } from '../chapter/marker-completion';
import { itemsOf, type Corpus } from '../words/corpus';
import { words } from '../words/words';
import { sum } from '../support/statistics';
import { batchesOf } from './batches';
import { repeatedFor, type Span } from './in-flight';
import { serveInBackground } from './serve-tasks';

const SET = 'names';
const BATCH = 1000;

let connections: Redis[] = [];

const tasks = {
  connect: async ({ port, clients }: { port: number; clients: number }) => {
    connections = Array.from({ length: clients }, () => new Redis(port, '127.0.0.1'));
    await Promise.all(connections.map((connection) => connection.ping()));
  },
  fill: async ({ corpus }: { corpus: Corpus }) => {
    for (const batch of batchesOf(itemsOf(await words(), corpus), BATCH)) {
      await connections[0]?.zadd(SET, ...batch.flatMap(({ folded }) => ['0', folded]));
    }
  },
  drop: async () => void (await connections[0]?.unlink(SET)),
  /** Completes queries. Resolves to the numbers of answers and of retries. */
  markers: async ({ queries, ...span }: Span & { queries: readonly string[] }) => {
    const completions = connections.map((connection) => new MarkerCompletion(connection, SET));
    const { count } = await repeatedFor(span, async (index, client) => {
      await completions[client]?.complete(queries[index % queries.length] as string);
    });
    return { count, retries: sum(completions.map(({ retries }) => retries)) };
  },
};

export type NamesTasks = typeof tasks;

serveInBackground(tasks);
