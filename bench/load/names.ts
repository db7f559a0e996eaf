/** Completes names of a sorted set without a server, with the chapter's markers. */
import { constants, setPriority } from 'node:os';
import { Redis } from 'ioredis';
import { MarkerCompletion } from '../chapter/marker-completion';
import { itemsOf, type Corpus } from '../words/corpus';
import { words } from '../words/words';
import { batchesOf } from './batches';
import { serveTasks } from './serve-tasks';

const SET = 'names';
const BATCH = 1000;

let connections: Redis[] = [];

// This process has a low priority, because Redis is measured and must not wait for a core.
setPriority(constants.priority.PRIORITY_LOW);

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
  /** Completes queries with all clients for this time. Resolves to the numbers of answers and of retries. */
  markers: async ({
    queries,
    clients,
    forMs,
  }: {
    queries: readonly string[];
    clients: number;
    forMs: number;
  }) => {
    const startedAt = performance.now();
    let count = 0;
    let retries = 0;
    await Promise.all(
      connections.slice(0, clients).map(async (connection) => {
        const completion = new MarkerCompletion(connection, SET);
        while (performance.now() < startedAt + forMs) {
          await completion.complete(queries[count++ % queries.length] as string);
        }
        retries += completion.retries;
      }),
    );
    return { count, retries, ms: performance.now() - startedAt };
  },
};

export type NamesTasks = typeof tasks;

serveTasks(tasks);
