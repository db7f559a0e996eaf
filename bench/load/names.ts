/**
 * Completes names of a sorted set without a server: with the chapter's markers, or by fetching and searching all names.
 */
import { constants, setPriority } from 'node:os';
import { Redis } from 'ioredis';
import { MarkerCompletion } from '../chapter/marker-completion';
import { people } from '../support/people';
import { serveTasks } from './serve-tasks';

const SET = 'names';
const MOST = 10;
const BATCH = 1000;

let connections: Redis[] = [];

function first(): Redis {
  const [connection] = connections;
  if (connection === undefined) throw new Error('call connect first');
  return connection;
}

function answers(name: string, query: string, how: 'prefix' | 'substring'): boolean {
  return how === 'prefix' ? name.startsWith(query) : name.includes(query);
}

// This process has a low priority, because Redis is measured and must not wait for a core.
setPriority(constants.priority.PRIORITY_LOW);

const tasks = {
  connect: async ({ port, clients }: { port: number; clients: number }) => {
    connections = Array.from({ length: clients }, () => new Redis(port, '127.0.0.1'));
    await Promise.all(connections.map((connection) => connection.ping()));
  },
  fill: async ({ count }: { count: number }) => {
    const names = people(count).map(({ name }) => name);
    for (let at = 0; at < count; at += BATCH) {
      await first().zadd(SET, ...names.slice(at, at + BATCH).flatMap((name) => ['0', name]));
    }
  },
  drop: async () => void (await first().unlink(SET)),
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
  /** Runs the queries in turn. Resolves to the number of found names. */
  fetch: async ({ queries, how }: { queries: readonly string[]; how: 'prefix' | 'substring' }) => {
    let found = 0;
    for (const query of queries) {
      const names = await first().zrange(SET, '0', '-1');
      found += names.filter((name) => answers(name, query, how)).slice(0, MOST).length;
    }
    return found;
  },
};

export type NamesTasks = typeof tasks;

serveTasks(tasks);
